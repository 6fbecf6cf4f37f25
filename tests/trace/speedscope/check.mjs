// Opens each given Chrome trace in speedscope, in headless Chromium, and checks that speedscope shows
// it: one profile for each thread with slices, whose frames bear the names of the trace, and no word
// of complaint on the console.
//
//   node check.mjs --modules DIR [--screenshot FILE.png] TRACE...
//
// DIR holds node_modules with playwright-core and speedscope. Exits 1 where a trace fails. The
// screenshot is of the last trace, as a flame chart over time.

import {createReadStream, existsSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {createServer} from 'node:http';
import {createRequire} from 'node:module';
import {tmpdir} from 'node:os';
import path from 'node:path';
import {parseArgs} from 'node:util';
import {gunzipSync} from 'node:zlib';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const PATIENCE_MS = 60_000;
const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
  '--enable-unsafe-swiftshader',  // WebGL, which speedscope draws with, has no GPU here
];
const MIME = {'.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css',
  '.json': 'application/json', '.wasm': 'application/wasm', '.png': 'image/png',
  '.woff2': 'font/woff2', '.ico': 'image/x-icon'};

const {values: options, positionals: traces} = parseArgs({
  allowPositionals: true,
  options: {modules: {type: 'string'}, screenshot: {type: 'string'}},
});
if (!options.modules || traces.length === 0) {
  console.error('usage: check.mjs --modules DIR [--screenshot FILE.png] TRACE...');
  process.exit(2);
}
const modules = path.resolve(options.modules, 'node_modules');
const {chromium} = createRequire(path.join(modules, '..', 'package.json'))('playwright-core');

/** Serves speedscope's release files, and the traces under /trace/INDEX, on a free local port. */
async function serve() {
  const release = path.join(modules, 'speedscope', 'dist', 'release');
  const server = createServer((request, response) => {
    const name = decodeURIComponent(new URL(request.url, 'http://localhost').pathname);
    const trace = name.match(/^\/trace\/(\d+)$/);
    const file = trace ? traces[trace[1]] : path.join(release, path.normalize(name));
    if (!file || !existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, {'content-type': MIME[path.extname(file)] ?? 'application/octet-stream'});
    createReadStream(file).pipe(response);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** What speedscope must show: how many threads have slices, and the names of all slices. */
function expectation(file) {
  const bytes = readFileSync(file);
  const {traceEvents} = JSON.parse(file.endsWith('.gz') ? gunzipSync(bytes) : bytes);
  const slices = traceEvents.filter((event) => event.ph === 'X');
  return {
    profiles: new Set(slices.map((event) => `${event.pid}:${event.tid}`)).size,
    names: new Set(slices.map((event) => event.name)),
  };
}

/** Loads one trace and returns what is wrong with what speedscope makes of it. */
async function check(browser, base, index) {
  const expected = expectation(traces[index]);
  const problems = [];
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.on('console', (message) => {
    const graphics = /GPU stall|SwiftShader/i.test(message.text());  // the browser's, not the page's
    if (['error', 'warning'].includes(message.type()) && !graphics) {
      problems.push(`console ${message.type()}: ${message.text()}`);
    }
  });
  const broken = new Promise((resolve) => {
    page.on('pageerror', (error) => resolve(`exception: ${error.message}`));
    page.on('dialog', (dialog) => {
      dialog.dismiss();
      resolve(`alert: ${dialog.message()}`);
    });
  });

  // The sandwich view is a table of the frames, so that their names can be read.
  await page.goto(`${base}/index.html#profileURL=${encodeURIComponent(`/trace/${index}`)}` +
    '&view=sandwich');
  const failure = await Promise.race([broken,
    page.waitForSelector('table tr td', {state: 'attached'}).then(() => null,
      () => 'speedscope shows no frames')]);
  if (failure) return [failure, ...problems];

  const {title, rows} = await page.evaluate(() => ({
    title: document.body.innerText,
    rows: [...document.querySelectorAll('table tr')].map((row) => row.lastChild.textContent),
  }));
  // A frame with args is shown as `name {args}`.
  const frames = new Set(rows.map((row) => row.replace(/ \{.*$/, ''))
    .filter((name) => expected.names.has(name)));
  if (frames.size === 0) problems.push(`no frame of the trace is among ${rows.join(', ')}`);
  const profiles = Number(title.match(/\(\d+\/(\d+)\)/)?.[1] ?? 1);
  if (profiles !== expected.profiles) {
    problems.push(`${profiles} profiles are shown, not ${expected.profiles}`);
  }
  if (problems.length === 0) {
    console.log(`${traces[index]}: ${profiles} profiles, one with ${[...frames].join(', ')}`);
  }
  if (options.screenshot && index === traces.length - 1) {
    await page.keyboard.press('1');  // over time
    await page.waitForTimeout(500);
    await page.screenshot({path: options.screenshot});
  }
  await page.close();
  return problems;
}

const profile = mkdtempSync(path.join(tmpdir(), 'weft-chromium-'));
const server = await serve();
const browser = await chromium.launchPersistentContext(profile, {
  executablePath: CHROMIUM, headless: true, args: FLAGS, viewport: {width: 1400, height: 800},
});
let failed = false;
for (const index of traces.keys()) {
  const base = `http://127.0.0.1:${server.address().port}`;
  const problems = await check(browser, base, index).catch((error) => [error.message]);
  for (const problem of problems) console.log(`${traces[index]}: ${problem}`);
  failed ||= problems.length > 0;
}
await browser.close();
server.close();
rmSync(profile, {recursive: true, force: true});
process.exit(failed ? 1 : 0);
