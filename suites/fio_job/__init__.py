"""fio-job: a job file of the user, run as fio runs it."""
