"""``python -m gpcommittee``."""

from gpcommittee.cli import main

if __name__ == "__main__":
    main()
