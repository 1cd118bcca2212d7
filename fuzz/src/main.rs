//! One program for all targets. Built for fuzzing it is libFuzzer on the target that
//! `SELVEDGE_FUZZ_TARGET` names; built otherwise it tries the files it is given, one after the
//! other, which is how a finding is looked at.
#![cfg_attr(fuzzing, no_main)]
#![cfg_attr(fuzzing, allow(clippy::expect_used, clippy::panic, reason = "findings are panics"))]

#[cfg(fuzzing)]
mod fuzzer {
    use std::env;
    use std::path::Path;
    use std::sync::OnceLock;

    use peak_alloc::PeakAlloc;
    use selvedge_fuzz::Target;

    #[global_allocator]
    static MEMORY: PeakAlloc = PeakAlloc;

    static TARGET: OnceLock<Target> = OnceLock::new();

    fn target() -> &'static Target {
        TARGET.get_or_init(|| {
            let name = env::var("SELVEDGE_FUZZ_TARGET").expect("SELVEDGE_FUZZ_TARGET is set");
            selvedge_fuzz::named(&name).unwrap_or_else(|| {
                // Whoever asks for another wants to know which there are.
                selvedge_fuzz::all().iter().for_each(|target| println!("{}", target.name));
                std::process::exit(0)
            })
        })
    }

    /// Before libFuzzer looks for its corpus.
    fn prepare() {
        let _ = target();
        if let Some(folder) = env::var_os("SELVEDGE_FUZZ_SEEDS") {
            target().write_seeds(Path::new(&folder)).expect("the seeds are written");
        }
    }

    fn check(bytes: &[u8]) {
        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage();
        target().check(bytes);
        let held = MEMORY.peak_usage().saturating_sub(before);
        let allowed = target().memory(bytes.len());
        assert!(held <= allowed, "{} bytes took {held} bytes of memory", bytes.len());
    }

    libfuzzer_sys::fuzz_target!(init: prepare(), |bytes: &[u8]| check(bytes));
}

#[cfg(not(fuzzing))]
fn main() -> std::process::ExitCode {
    use std::process::ExitCode;

    let mut args = std::env::args().skip(1);
    let Some(target) = args.next().and_then(|name| selvedge_fuzz::named(&name)) else {
        let names: Vec<_> = selvedge_fuzz::all().iter().map(|target| target.name).collect();
        eprintln!("usage: selvedge-fuzz TARGET FILE...\ntargets: {}", names.join(", "));
        return ExitCode::FAILURE;
    };
    for file in args {
        match std::fs::read(&file) {
            Ok(bytes) => target.check(&bytes),
            Err(error) => {
                eprintln!("{file}: {error}");
                return ExitCode::FAILURE;
            }
        }
        println!("{file}: fine");
    }
    ExitCode::SUCCESS
}
