//! Measures Capdeck beside a direct connection to the same server, in the same run.
//!
//! Read [`BenchFigures`] for what is measured. Nothing here asserts a time: a benchmark reports, and what
//! counts as good is for its reader to judge.

mod api_calls;
mod calls;
mod capsules;
mod code_mode;
mod exposure;
mod figures;
mod growth;
mod load;
mod load_client;
mod memory;
mod peer;
mod process_usage;
mod registry;
mod report;
mod shell;
mod stage;
mod start;
mod surface;

pub use api_calls::measure_api_calls;
pub use calls::measure_calls;
pub use capsules::{
    CAPSULE_BLOCK_END, CAPSULE_BLOCK_START, CapsuleComparison, CapsuleFigures, CapsuleRow,
    ClosedLoop, OpenFigures, render_capsules, replace_capsule_block,
};
pub use code_mode::{
    AttackFigures, CODE_BLOCK_END, CODE_BLOCK_START, CallersFigures, CodeModeFigures,
    DurationSpread, MemoryFootprint, RunFigures, SurfaceTokens, measure_code_mode,
    render_code_mode, replace_code_block,
};
pub use exposure::{
    EXPOSURE_BLOCK_END, EXPOSURE_BLOCK_START, ExposureFigures, ExposureRun, SetupTokens,
    SignatureTokens, measure_exposure, render_exposure, replace_exposure_block,
};
pub use figures::{
    BenchFigures, CallFigures, LoadClientFigures, LoadClientRow, LoadFigures, MachineInfo,
    MemoryFigures, PeerLoad, ProcessMemory, StartFigures, SurfaceFigures, TreeMemory, TreeMoment,
};
pub use growth::{
    CallCost, ClientMemory, ClientsRow, CodeSessionMemory, GROWTH_BLOCK_END, GROWTH_BLOCK_START,
    GrowthFigures, ToolsRow, measure_growth, render_growth, replace_growth_block,
};
pub use load_client::measure_load_client;
pub use memory::measure_memory;
pub use peer::BenchPeer;
pub(crate) use process_usage::{resident_memory, tree_memory};
pub use registry::{
    PaintWeight, REGISTRY_BLOCK_END, REGISTRY_BLOCK_START, RegistryFigures, TokenRow,
    WatcherFigures, measure_registry, render_registry, replace_registry_block,
};
pub use report::{BLOCK_END, BLOCK_START, render, render_summary, replace_block};
pub(crate) use report::{grouped, replace_between};
pub use shell::{
    SHELL_BLOCK_END, SHELL_BLOCK_START, ShellFigures, ShellRow, measure_shell, render_shell,
    replace_shell_block,
};
pub use stage::{BenchStage, write_figures};
pub use start::measure_start;
pub use surface::measure_surface;
