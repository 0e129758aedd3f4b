"""fio-job: a job file of the user's own, run as fio runs it."""
