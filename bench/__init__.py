"""Measures start-up and run costs against their budgets: `python -m bench`, or `nox -s bench`."""
