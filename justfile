# `just` lists what can be run.
_default:
    @just --list

# All tests, or some: just test rust, just test e2e, just test clients
test *parts:
    ./test.sh {{ parts }}

# Format, lints, licences
lint:
    ./test.sh format lint licences

# Write the generated pages of docs/reference
docs:
    CAPDECK_UPDATE_DOCS=1 cargo nextest run --workspace -E 'test(/reference/) | test(the_rules_are_those_of_the_types)'

# The documentation as a site, at http://localhost:3000
site:
    mdbook serve docs

# Benchmarks; writes bench/results/latest.json
bench:
    bench/run
