//! What a client is measured on, and what is measured of it in the same way on every Rust side.

use std::{path::PathBuf, time::Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::{
    Result,
    measure::{Run, cpu, memory},
    shapes::Shape,
};

/// How long the memory is left to settle after the sync.
pub const SETTLE: std::time::Duration = std::time::Duration::from_millis(500);

/// The server, what it holds, and what the client makes of it.
#[derive(Clone, Debug, clap::Args)]
pub struct Target {
    /// The replay server's address.
    #[arg(long, required_unless_present = "kubeconfig", conflicts_with = "kubeconfig")]
    pub server: Option<String>,
    /// The kubeconfig of a real server.
    #[arg(long)]
    pub kubeconfig: Option<PathBuf>,
    /// The form of its objects.
    #[arg(long, default_value = "network")]
    pub shape: Shape,
    /// How many objects it has.
    #[arg(long)]
    pub objects: usize,
    /// How many changes follow.
    #[arg(long, default_value_t = 0)]
    pub updates: usize,
    /// The program that makes the changes on a real server.
    #[arg(long, requires = "kubeconfig")]
    pub writer: Option<PathBuf>,
    /// Reads the list in pages.
    #[arg(long)]
    pub paged: bool,
    /// Keeps the objects' managedFields.
    #[arg(long)]
    pub managed_fields: bool,
}

impl Target {
    /// How to connect to the server.
    pub async fn config(&self) -> Result<kube::Config> {
        match (&self.server, &self.kubeconfig) {
            (Some(server), _) => Ok(kube::Config::new(format!("http://{server}").parse()?)),
            (None, Some(path)) => {
                let file = Kubeconfig::read_from(path)?;
                Ok(kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?)
            }
            (None, None) => Err("neither --server nor --kubeconfig".into()),
        }
    }

    /// The work's name in the results.
    pub fn work(&self, form: &str) -> String {
        let (shape, objects) = (self.shape.name(), self.objects);
        let fields = if self.managed_fields { ", with managedFields" } else { "" };
        let pages = if self.paged { " paged" } else { " streamed" };
        let at = if self.kubeconfig.is_some() { "real server, " } else { "" };
        format!("{at}{objects} {shape}{pages}{form}{fields}")
    }
}

/// A measurement of one client.
pub struct Measured {
    /// What was measured so far.
    pub run: Run,
    objects: usize,
    memory_before: f64,
    cpu_before: std::time::Duration,
    begin: Instant,
}

impl Measured {
    /// Begins, before the client is started.
    pub fn begin(peer: &str, target: &Target, form: &str) -> Result<Self> {
        Ok(Self {
            run: Run::new(peer, target.work(form)),
            objects: target.objects,
            memory_before: memory()?.0,
            cpu_before: cpu(),
            begin: Instant::now(),
        })
    }

    /// Notes that the cache is complete.
    pub fn synced(&mut self) -> Result<()> {
        let took = self.begin.elapsed().as_secs_f64();
        self.run.set("sync s", took);
        self.run.set("sync µs per object", took * 1e6 / self.objects as f64);
        self.run.set("sync CPU s", (cpu() - self.cpu_before).as_secs_f64());
        self.run.set("peak memory MB", memory()?.1);
        Ok(())
    }

    /// Notes the memory after it has settled.
    pub fn settled(&mut self) -> Result<()> {
        let steady = memory()?.0;
        self.run.set("steady memory MB", steady);
        // There is nothing that could be collected.
        self.run.set("steady memory, collected MB", steady);
        let bytes = (steady - self.memory_before) * 1024.0 * 1024.0;
        self.run.set("steady bytes per object", bytes / self.objects as f64);
        Ok(())
    }

    /// Begins to follow the changes.
    pub fn follow(&mut self) {
        self.begin = Instant::now();
        self.cpu_before = cpu();
    }

    /// Notes that so many changes were heard of, of `told` one by one.
    pub fn followed(&mut self, updates: usize, told: f64) -> Result<()> {
        self.run.set("updates/s", updates as f64 / self.begin.elapsed().as_secs_f64());
        self.run.set("updates CPU s", (cpu() - self.cpu_before).as_secs_f64());
        self.run.set("memory after updates MB", memory()?.0);
        self.run.set("updates told one by one %", 100.0 * told / updates as f64);
        Ok(())
    }
}
