//! nginx with one worker, which serves files.

use std::path::Path;
use std::process::Stdio;

use super::{Peer, free_port, program};
use crate::machine::Cores;

/// Starts a server on its core for the files in `folder`.
pub fn start(folder: &Path, cores: &Cores) -> Result<Peer, String> {
    let program = program("nginx")?;
    let port = free_port();
    // What an operator would set for small files: no log, files kept open, no wait for more bytes.
    let configuration = format!(
        "daemon off; master_process off; pid nginx.pid; error_log stderr crit;\n\
         events {{ worker_connections 1024; }}\n\
         http {{\n  access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; default_type application/json;\n  \
         keepalive_requests 100000000; open_file_cache max=100 inactive=60s; open_file_cache_valid 60s;\n  \
         client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; \
         scgi_temp_path scgi;\n  \
         server {{ listen 127.0.0.1:{port}; root {}; }}\n}}\n",
        folder.display()
    );
    let path = folder.join("nginx.conf");
    std::fs::write(&path, configuration).map_err(|error| error.to_string())?;
    let mut command = cores.server(&program);
    command.arg("-p").arg(folder).arg("-c").arg(&path).stdout(Stdio::null());
    Peer::start(command, format!("127.0.0.1:{port}"))
}
