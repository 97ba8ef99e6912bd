//! The soak: a real host among badly behaved clients and children, watched from outside.
//!
//! Read [`run`] first. It opens a stage, takes a baseline, lets the clients loose for as long as asked, waits for
//! everything to calm down, and judges what is left over.

mod children;
mod client;
mod code;
mod legacy;
mod modern;
mod report;
mod sample;
mod stage;
mod tally;
mod wire;

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

pub use report::{FigureGrowth, SoakFigures, render_soak, replace_soak_block};
pub use sample::HostSample;
pub use tally::KindFigures;

use self::{client::SoakClient, sample::HostSampler, stage::SoakStage, tally::SoakTally};

/// How long and how hard.
#[derive(Debug, Clone, Copy)]
pub struct SoakSettings {
    pub duration: Duration,
    pub clients: usize,
    /// What the host may take beyond the deadline of what was asked.
    pub timeout: Duration,
    /// The longest wait for everything to be as it was before.
    pub calm: Duration,
    /// Whether memory, too, has to be as it was before.
    pub judges_memory: bool,
}

/// How often the host is looked at.
const SAMPLE_EVERY: Duration = Duration::from_millis(500);

/// How often the deck is written again while the clients are busy.
const RELOAD_INTERVAL: Duration = Duration::from_secs(2);

/// The host, its guardian, the process that code mode forks from, and one that waits for the next run.
const RESTING_PROCESSES: u64 = 4;

/// Runs the whole soak. `say` hears what is going on.
pub fn run(settings: SoakSettings, say: &dyn Fn(&str)) -> SoakFigures {
    let mut stage = SoakStage::open();
    let tally = Arc::new(SoakTally::default());
    let mut sampler = HostSampler::new(&stage);
    say("warming up: every child is called once");
    stage.warm_up();
    let baseline = calm(&mut sampler, settings.calm, |sample| {
        sample.is_quiet() && sample.processes <= RESTING_PROCESSES
    })
    .unwrap_or_else(|last| panic!("the host is not quiet after warming up: {last:?}"));
    say(&format!("baseline: {baseline}"));

    let over = Arc::new(AtomicBool::new(false));
    let clients: Vec<_> = (0..settings.clients)
        .map(|number| {
            let client = SoakClient::new(number, &stage, Arc::clone(&tally), settings.timeout);
            let over = Arc::clone(&over);
            thread::spawn(move || client.misbehave(&over))
        })
        .collect();
    let started = Instant::now();
    let mut samples = Vec::new();
    let mut printed_at = Instant::now();
    let mut reloaded_at = Instant::now();
    while started.elapsed() < settings.duration {
        thread::sleep(SAMPLE_EVERY);
        samples.push(sampler.take());
        if reloaded_at.elapsed() > RELOAD_INTERVAL {
            reloaded_at = Instant::now();
            stage.reload();
        }
        if printed_at.elapsed() > Duration::from_secs(30) {
            printed_at = Instant::now();
            if let Some(sample) = samples.last() {
                say(&format!("{} s: {sample}", started.elapsed().as_secs()));
            }
        }
    }
    over.store(true, Ordering::Relaxed);
    say("waiting for the clients");
    for client in clients {
        client.join().expect("a client of the soak does not panic");
    }
    stage.end_remote_servers();
    say("waiting for the host to calm down");
    let after = calm(&mut sampler, settings.calm, |sample| {
        sample.is_within(&baseline) && (!settings.judges_memory || sample.has_memory_of(&baseline))
    });
    let after = after.unwrap_or_else(|last| last);
    say(&format!("afterwards: {after}"));
    report::judge(settings, &tally, baseline, &samples, after)
}

/// Waits until a sample fits; gives it, or the last one when none did in time.
fn calm(
    sampler: &mut HostSampler,
    longest: Duration,
    fits: impl Fn(&HostSample) -> bool,
) -> Result<HostSample, HostSample> {
    let deadline = Instant::now() + longest;
    loop {
        let sample = sampler.take();
        if fits(&sample) {
            return Ok(sample);
        }
        if Instant::now() > deadline {
            return Err(sample);
        }
        thread::sleep(SAMPLE_EVERY);
    }
}
