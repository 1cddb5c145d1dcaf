// Who uses a folder: the file `owner` in it. `client/src/store/owner.rs` says what stands there; programs in Rust and
// Python heed it, too. Nothing here waits, so that no other call of this process comes in between.
import { readFileSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

// Milliseconds that a file may be empty: its process is between making and writing it.
const UNWRITTEN = 10_000;

// The files of this process.
const owned = new Set();
process.on('exit', () => owned.forEach(free));

// When a process began, on Linux; an empty text elsewhere, and for one that has ended and waits for its parent to notice.
const began = (number) => {
  try {
    const stat = readFileSync(`/proc/${number}/stat`, 'latin1');
    // The name of the program stands in brackets, and may hold any of them.
    const fields = stat.slice(stat.lastIndexOf(')') + 1).trim().split(/\s+/);
    return fields[0] === 'Z' ? '' : fields[19];
  } catch {
    return '';
  }
};

// Threads of one program are not told apart.
const own = `${process.pid} ${began(process.pid) || '-'}`;

const exists = (number) => {
  try {
    return process.kill(number, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
};

// Whether the process that a file names still runs.
const lives = (found, file) => {
  const [number, start] = found.split(' ');
  if (found === '') return Date.now() - statSync(file).mtimeMs < UNWRITTEN;
  if (!/^[1-9][0-9]{0,9}$/.test(number) || !exists(Number(number))) return false;
  return start === '-' || !began(process.pid) || began(number) === start;
};

// A result that is `undefined` where there is no such file, or there is one already.
const attempt = (work, expected) => {
  try {
    return work() ?? true;
  } catch (error) {
    if (error.code !== expected) throw error;
    return undefined;
  }
};

// Removes a file that has this text. `false` if another process has just put its own there.
const removed = (file, found) => {
  const aside = `${file}.${process.pid}.old`;
  if (attempt(() => renameSync(file, aside), 'ENOENT') === undefined) return true;
  if (readFileSync(aside, 'utf8') === found) {
    rmSync(aside);
    return true;
  }
  renameSync(aside, file);
  return false;
};

// Makes this process the owner of a folder; returns the file that says so.
export function claim(folder) {
  const file = join(realpathSync(folder), 'owner');
  const used = () => new Error(`another program uses ${folder}`);
  if (owned.has(file)) throw new Error(`another store of this program uses ${folder}; close it first`);
  // Several programs may find the same dead owner. Each try removes one at most.
  for (let tries = 0; tries < 3; tries += 1) {
    if (attempt(() => writeFileSync(file, own, { flag: 'wx', mode: 0o600 }), 'EEXIST')) {
      owned.add(file);
      return file;
    }
    const found = attempt(() => readFileSync(file, 'utf8'), 'ENOENT');
    if (found === undefined) continue;
    // Where it names this process, whose stores are known, an earlier one had the same number.
    if ((found !== own && lives(found, file)) || !removed(file, found)) throw used();
  }
  throw used();
}

export function free(file) {
  if (owned.delete(file)) rmSync(file, { force: true });
}
