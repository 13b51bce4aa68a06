"""The control path: numbered records, seals, the lease, a job's directory. No Spark here.

Everything that steers a job is a small framed object written once with put-if-absent. Nobody ever overwrites
one, so any number of processes may post and read at the same time.
"""
