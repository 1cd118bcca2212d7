//! Installs the pinned peers below `target/conformance/`, once per set of pins.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, bail, ensure};

use crate::process::{run, run_with_retries, step, succeeds};
use crate::workspace;

/// A folder with the Python packages of one requirements file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Venv {
    /// pydantic-ai 2.x.
    PydanticAi2,
    /// pydantic-ai 1.x.
    PydanticAi1,
    /// a2a-sdk for A2A 1.0.
    A2aV1,
    /// a2a-sdk for A2A 0.3.
    A2aV03,
    /// openai and agentscope-runtime.
    OpenAi,
    /// The server of a2a-sdk for A2A 1.0.
    RemoteA2aV1,
    /// The server of a2a-sdk for A2A 0.3.
    RemoteA2aV03,
    /// agentscope-runtime as a server, with all it takes.
    RemoteAgentApi,
    /// pydantic-ai 1.x with `to_a2a`.
    RemotePydanticAi,
    /// schemathesis, which makes requests from an OpenAPI document.
    Schemathesis,
}

impl Venv {
    /// Every environment that loads what our encoders write.
    pub(crate) const ALL: [Self; 5] =
        [Self::PydanticAi2, Self::PydanticAi1, Self::A2aV1, Self::A2aV03, Self::OpenAi];

    fn name(self) -> &'static str {
        match self {
            Self::PydanticAi2 => "pydantic-ai-2",
            Self::PydanticAi1 => "pydantic-ai-1",
            Self::A2aV1 => "a2a-1.0",
            Self::A2aV03 => "a2a-0.3",
            Self::OpenAi => "openai",
            Self::RemoteA2aV1 => "remote-a2a-1.0",
            Self::RemoteA2aV03 => "remote-a2a-0.3",
            Self::RemoteAgentApi => "remote-agent-api",
            Self::RemotePydanticAi => "remote-pydantic-ai",
            Self::Schemathesis => "schemathesis",
        }
    }

    /// A command that runs this environment's Python.
    pub(crate) fn python(self) -> Result<Command> {
        Ok(Command::new(python_in(&self.folder()?)))
    }

    fn folder(self) -> Result<PathBuf> {
        Ok(workspace::conformance()?.join("venv").join(self.name()))
    }

    pub(crate) fn install(self) -> Result<()> {
        let requirements = workspace::root()?
            .join("conformance/python/requirements")
            .join(format!("{}.txt", self.name()));
        let folder = self.folder()?;
        let stamp = Stamp::of(&folder, &[&requirements])?;
        if stamp.matches() {
            return Ok(());
        }
        step(&format!("install Python packages: {}", self.name()));
        remove(&folder)?;
        run(Command::new(host_python()?).args(["-m", "venv"]).arg(&folder))?;
        // The requirements are complete, so nothing needs resolving; and the
        // runtime of the Agent API would pull in far more than its schemas need.
        run_with_retries(
            Command::new(python_in(&folder))
                .args(["-m", "pip", "install", "--quiet", "--no-deps"])
                .args(["--no-compile", "--disable-pip-version-check"])
                .arg("--requirement")
                .arg(&requirements),
        )?;
        stamp.write()
    }
}

/// Installs whatever is missing or was pinned otherwise.
pub(crate) fn install() -> Result<()> {
    thread::scope(|scope| {
        let node = scope.spawn(install_node_packages);
        for venv in Venv::ALL {
            venv.install()?;
        }
        match node.join() {
            Ok(result) => result,
            Err(_) => bail!("the installation of npm packages panicked"),
        }
    })
}

/// Installs the peers that the benchmarks need.
pub(crate) fn install_bench_peers() -> Result<()> {
    Venv::PydanticAi2.install()?;
    install_node_packages()
}

/// A command that runs the installed node in the folder of the JavaScript drivers.
pub(crate) fn node() -> Result<Command> {
    let folder = js_folder()?;
    let installed = folder.join("node_modules/.bin/node");
    // No package holds a node for this platform: the host's has to do.
    let program = if installed.exists() { installed } else { PathBuf::from("node") };
    let mut command = Command::new(program);
    command.current_dir(folder);
    Ok(command)
}

/// Installs the peers that node runs.
pub(crate) fn install_node_packages() -> Result<()> {
    let source = workspace::root()?.join("conformance/js");
    let folder = js_folder()?;
    let pins = ["package.json", "package-lock.json", ".npmrc"];
    let paths = pins.map(|name| source.join(name));
    let stamp = Stamp::of(&folder, &paths.each_ref().map(PathBuf::as_path))?;
    if !stamp.matches() {
        step("install npm packages");
        ensure!(
            succeeds(Command::new("npm").arg("--version")),
            "npm is needed: it comes with node 20 or newer"
        );
        remove(&folder)?;
        fs::create_dir_all(&folder)?;
        for name in pins {
            fs::copy(source.join(name), folder.join(name))?;
        }
        run_with_retries(Command::new("npm").current_dir(&folder).args([
            "ci",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
        ]))
        .context("npm is needed: it comes with node")?;
        stamp.write()?;
    }
    // The drivers import the packages, so they live beside them.
    copy_drivers(&source, &folder)?;
    copy_drivers(&source.join("ui"), &folder.join("ui"))
}

fn copy_drivers(source: &Path, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    for entry in fs::read_dir(source)? {
        let path = entry?.path();
        if let (Some("mjs" | "jsx"), Some(name)) =
            (path.extension().and_then(|e| e.to_str()), path.file_name())
        {
            fs::copy(&path, folder.join(name))?;
        }
    }
    Ok(())
}

fn js_folder() -> Result<PathBuf> {
    Ok(workspace::conformance()?.join("js"))
}

/// A file in an installed folder that holds a digest of the pins it came from.
struct Stamp {
    path: PathBuf,
    digest: String,
}

impl Stamp {
    fn of(folder: &Path, pins: &[&Path]) -> Result<Self> {
        let mut hasher = DefaultHasher::new();
        for pin in pins {
            fs::read(pin)
                .with_context(|| format!("could not read {}", pin.display()))?
                .hash(&mut hasher);
        }
        Ok(Self { path: folder.join(".pins"), digest: format!("{:016x}\n", hasher.finish()) })
    }

    fn matches(&self) -> bool {
        fs::read_to_string(&self.path).is_ok_and(|found| found == self.digest)
    }

    fn write(&self) -> Result<()> {
        fs::write(&self.path, &self.digest)?;
        Ok(())
    }
}

/// Removes the folder, if there is one.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("could not remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

fn python_in(venv: &Path) -> PathBuf {
    if cfg!(windows) { venv.join("Scripts/python.exe") } else { venv.join("bin/python") }
}

fn host_python() -> Result<PathBuf> {
    const CHECK: &str = "import sys, venv; sys.exit(sys.version_info < (3, 11))";
    let chosen = env::var_os("PYTHON").map(PathBuf::from);
    let usual = ["python3", "python3.13", "python3.12", "python3.11"].map(PathBuf::from);
    for program in chosen.into_iter().chain(usual) {
        if succeeds(Command::new(&program).args(["-c", CHECK])) {
            return Ok(program);
        }
    }
    bail!("no Python 3.11 or newer with venv found; set PYTHON to one")
}
