//! A worker process for tests and measurements; the product starts itself instead.

fn main() -> std::io::Result<()> {
    capdeck_sandbox::run_worker()
}
