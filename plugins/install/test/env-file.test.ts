import { spawn } from 'node:child_process'
import * as fs from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { assertMembers, manualClock, rejectsWith, until, waitForProcessEnd } from '@plinth/dev/testing'
import { systemClock } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { EnvFileError, inspectEnvFile, readEnvFile, writeEnvFile } from '../src/env-file/env-file.ts'
import type { EnvFileOperations } from '../src/env-file/env-file-lock.ts'

const allowed = ['A', 'B', 'C', 'DB_PASSWORD']

interface Entry {
  readonly text?: string
  readonly mode?: number
}

/** Creates a directory with the file. Returns functions that read its state. */
async function place(t: Test, { text, mode = 0o600 }: Entry = {}) {
  const directory = t.testdir()
  const path = join(directory, '.env')
  if (text !== undefined) await fs.writeFile(path, text)
  if (text !== undefined) await fs.chmod(path, mode)
  return {
    directory,
    path,
    text: () => fs.readFile(path, 'utf8'),
    mode: async () => (await fs.stat(path)).mode & 0o777,
    names: async () => (await fs.readdir(directory)).sort(),
  }
}

const failure = (code: string) => Object.assign(new Error(`${code}: /secret/place/.env`), { code })
const failing = (code: string) => () => Promise.reject(failure(code))

type Open = typeof fs.open

/**
 * Returns a replacement for `open`. Files whose path has one of these endings are opened by the given function, all
 * others normally.
 */
const opening =
  (ways: Readonly<Record<string, Open>>): Open =>
  (path, flags, mode) => {
    const way = Object.entries(ways).find(([ending]) => String(path).endsWith(ending))?.[1] ?? fs.open
    return way(path, flags, mode)
  }

/** Returns a replacement for `open` whose handles have these failing functions. */
const spoiled =
  (functions: object): Open =>
  async (path, flags, mode) =>
    Object.assign(await fs.open(path, flags, mode), functions)

async function rejection(work: Promise<unknown>): Promise<EnvFileError> {
  const error = await work.then(
    () => undefined,
    (error) => error,
  )
  if (error instanceof EnvFileError) return error
  throw error ?? new Error('was not refused')
}

t.test('E16 I-128 a new file is private to its owner', async (t) => {
  const env = await place(t)
  const result = await writeEnvFile(env.path, { A: '1', B: '2' }, { allowed })
  t.same(result, { changed: [], added: ['A', 'B'], unchanged: [], warnings: [] })
  t.equal(await env.text(), 'A=1\nB=2\n')
  t.equal(await env.mode(), 0o600)
  t.same(await env.names(), ['.env'])
})

t.test('I-128 wider permissions are narrowed and reported', async (t) => {
  const env = await place(t, { text: 'A=1\n', mode: 0o644 })
  const { warnings } = await writeEnvFile(env.path, { A: '2' }, { allowed })
  t.same(warnings, [{ code: 'env-mode-restricted', params: { file: '.env', from: '0644', to: '0600' } }])
  t.equal(await env.mode(), 0o600)
})

t.test('E28 I-119 nothing to change: bytes and times stay, whatever the mode', async (t) => {
  const env = await place(t, { text: '\uFEFFA="1"\n', mode: 0o444 })
  const before = await fs.stat(env.path, { bigint: true })
  const files = { open: failing('EROFS'), access: failing('EROFS') }
  const result = await writeEnvFile(env.path, { A: '1' }, { allowed, operations: files as never })
  t.same(result, { changed: [], added: [], unchanged: ['A'], warnings: [] })
  const after = await fs.stat(env.path, { bigint: true })
  t.same(
    [after.mtimeNs, after.ctimeNs, after.ino, after.mode],
    [before.mtimeNs, before.ctimeNs, before.ino, before.mode],
  )
})

t.test('E33 a symbolic link stays, and its target is changed', async (t) => {
  const env = await place(t)
  await fs.mkdir(join(env.directory, 'real'))
  await fs.writeFile(join(env.directory, 'real/.env'), 'A=1\n', { mode: 0o644 })
  await fs.symlink('real/.env', env.path)
  await writeEnvFile(env.path, { A: '2' }, { allowed })
  t.ok((await fs.lstat(env.path)).isSymbolicLink())
  t.equal(await fs.readFile(join(env.directory, 'real/.env'), 'utf8'), 'A=2\n')
  t.equal(await env.mode(), 0o600)
  t.same(await fs.readdir(join(env.directory, 'real')), ['.env'])
})

t.test('E34 a dangling link is rejected, and so is anything that is not a file', async (t) => {
  const env = await place(t)
  await fs.symlink('link', env.path)
  await fs.symlink('target', join(env.directory, 'link'))
  const rejected = { code: 'env-not-writable', params: { reason: 'it is a link to a file that does not exist' } }
  await rejectsWith(t, writeEnvFile(env.path, { A: '2' }, { allowed }), rejected)
  await rejectsWith(t, inspectEnvFile(env.path), rejected)
  await rejectsWith(t, readEnvFile(env.path), rejected)
  await rejectsWith(t, fs.lstat(join(env.directory, 'target')), { code: 'ENOENT' })
  await fs.rm(join(env.directory, 'link'))
  await fs.symlink('/dev/null', join(env.directory, 'link'))
  await rejectsWith(t, readEnvFile(env.path), { code: 'env-not-writable', params: { reason: 'it is not a file' } })
})

t.test('E35 a file that cannot be replaced, as in a container, is overwritten in place', async (t) => {
  for (const code of ['EBUSY', 'EXDEV']) {
    const env = await place(t, { text: '# a long first line that goes\nA=1\n', mode: 0o640 })
    const { ino } = await fs.stat(env.path)
    const result = await writeEnvFile(env.path, { A: '' }, { allowed, operations: { rename: failing(code) } })
    t.same(
      result.warnings.map((warning) => warning.code),
      ['env-mode-restricted', 'env-written-in-place'],
    )
    t.equal(await env.text(), '# a long first line that goes\nA=\n')
    t.equal((await fs.stat(env.path)).ino, ino, 'it is the same file')
    t.equal(await env.mode(), 0o600)
    t.same(await env.names(), ['.env'])
  }
})

t.test('I-128 I-129 an error at any step leaves the file unchanged and nothing beside it', async (t) => {
  const steps: [string, Partial<EnvFileOperations>][] = [
    ['EACCES', { open: opening({ '.lock': failing('EACCES') }) }],
    ['EROFS', { open: opening({ '.lock': failing('EROFS') }) }],
    ['EIO', { open: opening({ '.lock': spoiled({ write: failing('EIO') }) }) }],
    ['EACCES', { readlink: failing('EACCES') as never }],
    ['EACCES', { readFile: failing('EACCES') as never }],
    ['EACCES', { access: failing('EACCES') }],
    ['EIO', { readdir: failing('EIO') as never }],
    ['ENOSPC', { open: opening({ '.tmp': failing('ENOSPC') }) }],
    ['EPERM', { rename: failing('EPERM') }],
    ['EDQUOT', { open: opening({ '.tmp': spoiled({ sync: failing('EDQUOT') }) }) }],
  ]
  for (const [code, operations] of steps) {
    const env = await place(t, { text: 'A=1\n' })
    const error = await rejection(writeEnvFile(env.path, { A: 's3cret' }, { allowed, operations }))
    t.equal(error.code, 'env-not-writable')
    t.same(error.params, { file: '.env', reason: code })
    t.notMatch(error.message, /s3cret|\//)
    t.equal(await env.text(), 'A=1\n')
    t.same(await env.names(), ['.env'])
  }
})

t.test('I-128 a path that is not a file, has no directory, or is a cycle of links', async (t) => {
  const env = await place(t)
  const directory = join(env.directory, 'directory')
  await fs.mkdir(directory)
  await fs.symlink('circle', join(env.directory, 'circle'))
  for (const path of [directory, join(env.directory, 'missing', '.env'), join(env.directory, 'circle')]) {
    t.equal((await rejection(writeEnvFile(path, { A: '1' }, { allowed }))).code, 'env-not-writable')
  }
  const bytes = Buffer.from([0x41, 0x3d, 0xff, 0x0a])
  await fs.writeFile(env.path, bytes)
  const { code, params } = await rejection(writeEnvFile(env.path, { A: '1' }, { allowed }))
  t.same({ code, ...params }, { code: 'env-file-malformed', file: '.env', line: '1' })
  t.same(await fs.readFile(env.path), bytes)
})

t.test('E24 E25 E38 E39 I-118 I-126 a forbidden value changes nothing and is shown nowhere', async (t) => {
  const env = await place(t, { text: 'A=1\n' })
  const password = 'adm1n-pass\'"word`$'
  const rejected: [string, Record<string, string>][] = [
    ['env-key-not-allowed', { A: '2', ADMIN_PASSWORD: password }],
    ['env-key-invalid', { A: '2', 'X Y': password }],
    ['env-value-unrepresentable', { A: '2', DB_PASSWORD: password }],
  ]
  for (const [code, changes] of rejected) {
    const error = await rejection(writeEnvFile(env.path, changes, { allowed }))
    t.equal(error.code, code)
    t.notOk(`${error.message}${error.fix}${JSON.stringify(error.params)}${error.stack}`.includes('adm1n'))
    t.equal(await env.text(), 'A=1\n')
    t.same(await env.names(), ['.env'])
  }
})

const writerUrl = new URL('../src/env-file/env-file.ts', import.meta.url).href

/** Writes the file in another process. `rename` replaces the rename function there. */
async function writeInProcess(path: string, changes: object, rename?: string) {
  const source = `
    import { writeEnvFile } from ${JSON.stringify(writerUrl)}
    const operations = ${rename === undefined ? '{}' : `{ rename: async () => { ${rename} } }`}
    await writeEnvFile(${JSON.stringify(path)}, ${JSON.stringify(changes)}, { allowed: ${JSON.stringify(allowed)}, operations })
      .catch((error) => { console.log(error.code) })`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const { signal, stdout } = await waitForProcessEnd(child)
  return { signal, code: stdout.trim() }
}

t.test(
  'E36 I-128 a writer dies between writing and renaming: the file is complete, and the next run cleans up',
  async (t) => {
    const env = await place(t, { text: 'A=1\n' })
    const { signal } = await writeInProcess(env.path, { A: 's3cret' }, 'process.kill(process.pid, "SIGKILL")')
    t.equal(signal, 'SIGKILL')
    t.equal(await env.text(), 'A=1\n')
    assertMembers(t, await env.names(), ['.env', /^\.env\.[0-9a-f]{16}\.tmp$/, '.env.lock'], 'it left its traces')
    await t.test('also if there is nothing to change', async (t) => {
      t.same((await writeEnvFile(env.path, { A: '1' }, { allowed })).unchanged, ['A'])
      t.same(await env.names(), ['.env'])
    })
    await writeInProcess(env.path, { A: 's3cret' }, 'process.kill(process.pid, "SIGKILL")')
    await writeEnvFile(env.path, { B: '2' }, { allowed })
    t.equal(await env.text(), 'A=1\nB=2\n')
    t.same(await env.names(), ['.env'])
  },
)

t.test('E37 two writers in one process', async (t) => {
  const env = await place(t, { text: 'A=1\n' })
  const results = await Promise.allSettled([
    writeEnvFile(env.path, { B: '2' }, { allowed }),
    writeEnvFile(env.path, { C: '3' }, { allowed }),
  ])
  const written = parseEnv(await env.text())
  t.ok(results.some(({ status }) => status === 'fulfilled'))
  for (const [index, key] of (['B', 'C'] as const).entries()) {
    const result = results[index]
    if (result?.status === 'fulfilled') t.ok(written[key], `${key} is there`)
    else t.equal(result?.reason.code, 'env-changed-concurrently')
  }
  t.equal(written['A'], '1')
  t.same(await env.names(), ['.env'])
})

t.test('E37 a lock is valid from the moment at which its file exists', async (t) => {
  const env = await place(t, { text: 'A=1\n' })
  const written = Promise.withResolvers<void>()
  const looked = Promise.withResolvers<void>()
  const slow: Open = async (path, flags, mode) => {
    const handle = await fs.open(path, flags, mode)
    const sync = handle.sync.bind(handle)
    return Object.assign(handle, {
      sync: async () => {
        written.resolve()
        await looked.promise
        return sync()
      },
    })
  }
  const first = writeEnvFile(env.path, { B: '2' }, { allowed, operations: { open: opening({ '.lock': slow }) } })
  await written.promise
  const sleep: EnvFileOperations['sleep'] = (ms, signal) => {
    looked.resolve()
    return systemClock.sleep(Math.min(ms, 50), signal)
  }
  const second = writeEnvFile(env.path, { C: '3' }, { allowed, operations: { sleep } })
  await Promise.race([looked.promise, second])
  looked.resolve()
  await Promise.all([first, second])
  t.match(parseEnv(await env.text()), { A: '1', B: '2', C: '3' })
})

t.test('E37 a lock that is just being released is not treated as a lock of a dead process', async (t) => {
  const env = await place(t, { text: 'A=1\n' })
  const removing = Promise.withResolvers<void>()
  const looked = Promise.withResolvers<void>()
  const rm: EnvFileOperations['rm'] = async (path, options) => {
    if (String(path).endsWith('.lock')) {
      removing.resolve()
      await looked.promise
    }
    return fs.rm(path, options)
  }
  const first = writeEnvFile(env.path, { B: '2' }, { allowed, operations: { rm } })
  await removing.promise
  const sleep: EnvFileOperations['sleep'] = (ms, signal) => {
    looked.resolve()
    return systemClock.sleep(Math.min(ms, 50), signal)
  }
  const open: Open = (path, flags, mode) => {
    looked.resolve()
    return fs.open(path, flags, mode)
  }
  const operations = { sleep, open: opening({ '.tmp': open }) }
  await Promise.all([first, writeEnvFile(env.path, { C: '3' }, { allowed, operations })])
  t.match(parseEnv(await env.text()), { A: '1', B: '2', C: '3' })
})

t.test('E37 two writing processes', async (t) => {
  const env = await place(t, { text: 'A=1\n' })
  const changes = { B: { B: '2' }, C: { C: '3' } }
  const [b, c] = await Promise.all([writeInProcess(env.path, changes.B), writeInProcess(env.path, changes.C)])
  const written = parseEnv(await env.text())
  t.equal(written['A'], '1')
  t.ok(written['B'] === '2' || written['C'] === '3')
  t.ok(written['B'] === '2' || b?.code === 'env-changed-concurrently')
  t.ok(written['C'] === '3' || c?.code === 'env-changed-concurrently')
  t.same(await env.names(), ['.env'])
})

t.test('E37 a program that does not know the lock changes the file at the same time', async (t) => {
  const env = await place(t, { text: 'A=1\n' })
  const open: Open = async (path, flags, mode) => {
    await fs.writeFile(env.path, 'A=by hand\n')
    return fs.open(path, flags, mode)
  }
  const operations = { open: opening({ '.tmp': open }) }
  const error = await rejection(writeEnvFile(env.path, { B: '2' }, { allowed, operations }))
  t.equal(error.code, 'env-changed-concurrently')
  t.equal(await env.text(), 'A=by hand\n')
  t.same(await env.names(), ['.env'])
})

t.test('E37 after the lock was taken over, the former owner writes nothing', async (t) => {
  const env = await place(t, { text: 'A=1\n' })
  const other = JSON.stringify({ token: '0123456789abcdef', pid: 1, host: 'elsewhere' })
  const open: Open = async (path, flags, mode) => {
    await fs.writeFile(`${env.path}.lock`, other)
    return fs.open(path, flags, mode)
  }
  const operations = { open: opening({ '.tmp': open }) }
  const error = await rejection(writeEnvFile(env.path, { A: '2' }, { allowed, operations }))
  t.equal(error.code, 'env-changed-concurrently')
  t.equal(await env.text(), 'A=1\n')
  t.equal(await fs.readFile(`${env.path}.lock`, 'utf8'), other, 'the lock of the other stays')
})

t.test('E37 a lock that is in use, and one whose owner is dead', async (t) => {
  const env = await place(t, { text: 'A=1\n' })
  const lock = `${env.path}.lock`
  const foreign = JSON.stringify({ token: '0123456789abcdef', pid: 1, host: 'elsewhere' })
  await fs.writeFile(lock, foreign)
  let now = (await fs.stat(lock)).mtimeMs
  const operations = {
    now: () => now,
    sleep: async (ms: number) => {
      now += ms
    },
  }
  const error = await rejection(writeEnvFile(env.path, { A: '2' }, { allowed, operations }))
  t.equal(error.code, 'env-changed-concurrently', 'a writer on another host may live')
  t.equal(await env.text(), 'A=1\n')
  now += 30_000
  await writeEnvFile(env.path, { A: '2' }, { allowed, operations })
  t.equal(await env.text(), 'A=2\n', 'after 30 s it is given up')

  const samePid = JSON.stringify({ token: '0123456789abcdef', pid: process.pid, host: hostname() })
  await fs.writeFile(lock, samePid)
  await writeEnvFile(env.path, { A: '3' }, { allowed })
  t.equal(await env.text(), 'A=3\n', 'a dead process had the number of this one, as in containers')

  await fs.writeFile(lock, '')
  now = (await fs.stat(lock)).mtimeMs
  t.equal(
    (await rejection(writeEnvFile(env.path, { A: '4' }, { allowed, operations }))).code,
    'env-changed-concurrently',
  )
  t.same(await env.names(), ['.env', '.env.lock'])
})

t.test('E37 a slow owner keeps its lock, also from other hosts; one that no longer renews it loses it', async (t) => {
  const env = await place(t, { text: 'A=1\n' })
  const clock = manualClock(Date.now())
  // The times of files come from the injected clock, as if all hosts used a shared file server.
  const timed: Open = async (path, flags, mode) => {
    const handle = await fs.open(path, flags, mode)
    const { write } = handle
    const writeAtThatTime = async (...parts: Parameters<typeof write>) => {
      const written = await write.apply(handle, parts)
      await handle.utimes(clock.now() / 1000, clock.now() / 1000)
      return written
    }
    return Object.assign(handle, { write: writeAtThatTime })
  }
  let reached = () => {}
  let goOn = () => {}
  const begun = new Promise<void>((resolve) => {
    reached = resolve
  })
  const held = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const slowly: Open = async (path, flags, mode) => {
    reached()
    await held
    return fs.open(path, flags, mode)
  }
  const age = async () => clock.now() - (await fs.stat(`${env.path}.lock`)).mtimeMs
  const operations = { now: clock.now, sleep: clock.sleep, open: opening({ '.lock': timed, '.tmp': slowly }) }
  const slow = writeEnvFile(env.path, { A: '2' }, { allowed, operations })
  await begun
  for (let renewals = 0; renewals < 9; renewals++) {
    t.equal(clock.sleepers, 1)
    await clock.advance(10_000)
    await until(() => clock.sleepers !== 0, 'a timer is set', 0)
    t.ok((await age()) < 1_000, `after ${10 * (renewals + 1)} s it was renewed just now`)
  }
  const waiting = rejection(
    writeEnvFile(env.path, { B: '3' }, { allowed, operations: { ...operations, open: fs.open } }),
  )
  for (let polls = 0; polls < 101; polls++) {
    await until(
      async () => clock.sleepers >= 2 || (await Promise.race([waiting, 'waits'])) !== 'waits',
      'the second writer polls or ends',
      0,
    )
    await clock.advance(50)
  }
  t.equal((await waiting).code, 'env-changed-concurrently', 'after 90 s of work it is not taken over')
  goOn()
  await slow
  t.equal(await env.text(), 'A=2\n')
  t.same(await env.names(), ['.env'])
  t.equal(clock.sleepers, 0, 'nothing is renewed any more')
})

t.test('I-128 the owner of the file is kept if possible', async (t) => {
  const env = await place(t, { text: 'A=1\n' })
  const { uid, gid } = await fs.stat(env.path)
  const chowns: unknown[] = []
  const withOwner = (chown: () => Promise<void>): Partial<EnvFileOperations> => ({
    lstat: (async (path: string) => Object.assign(await fs.lstat(path), { uid: uid + 1 })) as never,
    open: async (path, flags, mode) => {
      const handle = await fs.open(path, flags, mode)
      handle.chown = (...owner) => {
        chowns.push(owner)
        return chown()
      }
      return handle
    },
  })
  const kept = await writeEnvFile(env.path, { A: '2' }, { allowed, operations: withOwner(async () => {}) })
  t.same([kept.warnings, chowns], [[], [[uid + 1, gid]]])
  const lost = await writeEnvFile(env.path, { A: '3' }, { allowed, operations: withOwner(failing('EPERM')) })
  t.same(lost.warnings, [{ code: 'env-owner-changed', params: { file: '.env' } }])
  t.equal(await env.text(), 'A=3\n')
})
