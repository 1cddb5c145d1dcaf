// node run.mjs DOCUMENT FOLDER LANGUAGE BASE_URL...: generates a client of the document, compiles it, and makes three calls
// with it to each server. FOLDER is kept between runs, so that compilers find there what did not change.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [document, folder, language, ...servers] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const tools = join(here, '../../tools/python/bin');
const work = join(folder, language);

function run(program, args, options = {}) {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 28, ...options });
  assert.equal(status, 0, `${program} ${args.join(' ')}\n${stdout}\n${stderr}`);
  return stdout;
}

// Without documentation and tests of the client, which nobody reads here.
function generate(generator, properties, out) {
  rmSync(out, { recursive: true, force: true });
  const plain = 'models,apis,supportingFiles,modelDocs=false,apiDocs=false,modelTests=false,apiTests=false';
  const args = ['generate', '-g', generator, '-i', document, '-o', out, '--additional-properties', properties];
  run(join(tools, 'openapi-generator-cli'), [...args, '--global-property', plain], {
    env: { ...process.env, JAVA_OPTS: '-Dlog.level=error', PATH: `${tools}:${process.env.PATH}` },
  });
}

function call(program, args, options) {
  for (const server of servers) {
    const said = run(program, [...args, server], options);
    assert.ok(said.endsWith('called\n'), said);
  }
}

const tsc = (project) => run(process.execPath, [join(here, 'node_modules/typescript/bin/tsc'), '-p', project]);

function typescript(file) {
  cpSync(join(here, 'calls', file), join(work, file));
  writeFileSync(join(work, 'package.json'), '{"type":"module"}');
  const options = {
    target: 'es2022', module: 'nodenext', moduleResolution: 'nodenext', strict: true, skipLibCheck: true, types: ['node'],
    outDir: join(work, 'out'), rootDir: work,
  };
  writeFileSync(join(work, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, include: ['*.ts', 'client/**/*.ts'] }));
  // The compiler and Node look for libraries there.
  rmSync(join(work, 'node_modules'), { force: true });
  symlinkSync(join(here, 'node_modules'), join(work, 'node_modules'));
  tsc(work);
  call(process.execPath, [join(work, 'out', file.replace('.ts', '.js'))]);
}

const LANGUAGES = {
  python() {
    const out = join(work, 'client');
    generate('python', 'packageName=heliograph_client', out);
    run(join(tools, 'python'), ['-m', 'compileall', '-q', '-j', '2', join(out, 'heliograph_client')]);
    call(join(tools, 'python'), [join(here, 'calls/call.py'), out]);
  },

  fetch() {
    generate('typescript-fetch', 'importFileExtension=.js', join(work, 'client'));
    typescript('fetch.ts');
  },

  typed() {
    const cli = join(here, 'node_modules/openapi-typescript/bin/cli.js');
    run(process.execPath, [cli, document, '-o', join(work, 'schema.d.ts')]);
    typescript('typed.ts');
  },

  rust() {
    const out = join(work, 'client');
    generate('rust', 'packageName=heliograph-client,library=reqwest,useSingleRequestParameter=true', out);
    const caller = join(work, 'calls');
    mkdirSync(join(caller, 'src'), { recursive: true });
    cpSync(join(here, 'calls/call.rs'), join(caller, 'src/main.rs'));
    const manifest = readFileSync(join(out, 'Cargo.toml'), 'utf8');
    const without = manifest.replace(/default = \[.*\]/, 'default = []');
    writeFileSync(join(out, 'Cargo.toml'), without);
    writeFileSync(join(caller, 'Cargo.toml'), [
      '[package]', 'name = "calls"', 'version = "0.0.0"', 'edition = "2021"', '[dependencies]',
      'heliograph-client = { path = "../client" }', 'tokio = { version = "1", features = ["rt", "macros"] }', '[workspace]', '',
    ].join('\n'));
    const env = { ...process.env, CARGO_TARGET_DIR: join(work, 'target'), CARGO_PROFILE_DEV_DEBUG: '0', RUSTFLAGS: '-Awarnings' };
    call('cargo', ['run', '--quiet', '--'], { cwd: caller, env });
  },

  go() {
    const out = join(work, 'client');
    generate('go', 'packageName=client,isGoSubmodule=true,withGoMod=false', out);
    // Where its library was unpacked, Go asks nobody for it.
    const library = join(here, '../../tools/go/usr/share/gocode/src/gopkg.in/validator.v2');
    const manifest = readFileSync(join(here, 'calls/go.mod'), 'utf8');
    const local = existsSync(library);
    writeFileSync(join(work, 'go.mod'), local ? `${manifest}\nreplace gopkg.in/validator.v2 => ${library}\n` : manifest);
    mkdirSync(join(work, 'calls'), { recursive: true });
    cpSync(join(here, 'calls/main.go'), join(work, 'calls/main.go'));
    const env = { ...process.env, GOCACHE: join(folder, 'go-cache'), GOPATH: join(folder, 'go'), GOFLAGS: '-mod=mod' };
    run(join(tools, 'go'), ['build', '-o', 'caller', './calls'], { cwd: work, env: { ...env, ...(local && { GOPROXY: 'off' }) } });
    call(join(work, 'caller'), []);
  },
};

assert.ok(LANGUAGES[language], `usage: node run.mjs DOCUMENT FOLDER ${Object.keys(LANGUAGES).join('|')} BASE_URL...`);
mkdirSync(work, { recursive: true });
LANGUAGES[language]();
console.log(`ok ${language}`);
