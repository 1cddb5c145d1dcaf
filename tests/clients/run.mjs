// node run.mjs DOCUMENT BASE_URL FOLDER LANGUAGE: generates a client of the document, compiles it and makes three calls
// with it. FOLDER is kept between runs, so that compilers find there what did not change.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [document, base, folder, language] = process.argv.slice(2);
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

const called = (said) => assert.ok(said.endsWith('called\n'), said);
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
  called(run(process.execPath, [join(work, 'out', file.replace('.ts', '.js')), base]));
}

const LANGUAGES = {
  python() {
    const out = join(work, 'client');
    generate('python', 'packageName=heliograph_client', out);
    run(join(tools, 'python'), ['-m', 'compileall', '-q', '-j', '2', join(out, 'heliograph_client')]);
    called(run(join(tools, 'python'), [join(here, 'calls/call.py'), out, base]));
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
    generate('rust', 'packageName=heliograph-client,library=reqwest', out);
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
    called(run('cargo', ['run', '--quiet', '--', base], { cwd: caller, env }));
  },

  go() {
    const out = join(work, 'client');
    generate('go', 'packageName=client,isGoSubmodule=true,withGoMod=false', out);
    writeFileSync(join(work, 'go.mod'), readFileSync(join(here, 'calls/go.mod')));
    if (existsSync(join(here, 'calls/go.sum'))) cpSync(join(here, 'calls/go.sum'), join(work, 'go.sum'));
    mkdirSync(join(work, 'calls'), { recursive: true });
    cpSync(join(here, 'calls/main.go'), join(work, 'calls/main.go'));
    const env = { ...process.env, GOCACHE: join(folder, 'go-cache'), GOPATH: join(folder, 'go'), GOFLAGS: '-mod=mod' };
    called(run(join(tools, 'go'), ['run', './calls', base], { cwd: work, env }));
  },
};

assert.ok(LANGUAGES[language], `usage: node run.mjs DOCUMENT BASE_URL FOLDER ${Object.keys(LANGUAGES).join('|')}`);
mkdirSync(work, { recursive: true });
LANGUAGES[language]();
console.log(`ok ${language}`);
