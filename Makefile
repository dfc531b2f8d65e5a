# Every target sets itself up: it checks what is needed, makes build/venv, builds and installs Cannery there, and goes on.
# PYTHON names the interpreter to use (3.11 or newer); without it python3, or python3.13 .. python3.11, is taken.
PYTHON ?= python3
VENV := build/venv
export PYTHON

.PHONY: demo test lint bench coverage-table behaviour-page installs clean help

help:
	@echo 'make demo    record a sample program, show and replay it, and see what a second run does differently'
	@echo 'make test    run the tests (TESTS="tests/test_elf.py -k static" selects some)'
	@echo 'make lint    ruff, mypy --strict, checks of generated tables'
	@echo 'make bench   measure what Cannery costs, beside other tracers, and write docs/benchmarks.md (a quarter of an hour)'
	@echo 'make coverage-table   run all tests, count which functions they call, and write docs/coverage.md'
	@echo 'make behaviour-page   write docs/behaviours.md from the table of switches'
	@echo 'make installs         install in every supported way with every Python found, and run a program under each'
	@echo 'make clean   remove what was built'

demo:
	@sh tools/setup/environment.sh $(VENV)
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sh tools/demo/demo.sh

test:
	@sh tools/setup/environment.sh $(VENV) test
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/python -m pytest -n 2 $(TESTS)

lint:
	@sh tools/setup/environment.sh $(VENV) test lint
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" sh tools/setup/lint.sh

bench:
	@sh tools/setup/environment.sh $(VENV) bench
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/python -m cannery.tools.bench --docs docs --json build/benchmarks.json

# The same seed gives the same random calls, and so the same counts.
coverage-table:
	@sh tools/setup/environment.sh $(VENV) test
	@PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/python -m pytest -n 2 -p tests.count_functions \
		--hypothesis-seed=0 --count-functions tools/data/tests.json
	@sh tools/setup/environment.sh $(VENV) test
	@$(VENV)/bin/python -m cannery.tools.generate.coverage docs/coverage.md

behaviour-page:
	@sh tools/setup/environment.sh $(VENV)
	@$(VENV)/bin/python -m cannery.tools.generate.behaviours docs/behaviours.md

installs:
	@sh tools/setup/installs.sh

clean:
	rm -rf build/venv build/cp3* dist
