#!/bin/sh
grep -q code "$EVA_OUTPUT_FILE"
