"""Every table and figure of the GRBCM paper: one definition per experiment, results stored run by run."""
