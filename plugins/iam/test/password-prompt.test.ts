import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { rejectsWith, watchProcess } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import { readPassword } from '../src/commands.ts'
import { startIam } from './fixtures/product.ts'

t.test('an administrator without a name is rejected before any prompt', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { running } = await startIam(t, db)
  const iam = running.plugins.find(({ id }) => id === 'iam')
  const create = iam?.commands?.find(({ name }) => name === 'admin create')
  const output = { json: false, result: () => {}, progress: () => {} }
  const call = { args: [], options: {}, output, signal: new AbortController().signal }
  await rejectsWith(t, Promise.resolve(create?.run({} as never, call as never)), { code: 'PLINTH_IAM_ADMIN_OPTIONS' })
})

/** Returns a fake terminal that the test controls. */
function fakeTerminal() {
  const keyboard = Object.assign(new PassThrough(), {
    isTTY: true,
    rawModes: [] as boolean[],
    setRawMode(isRaw: boolean) {
      keyboard.rawModes.push(isRaw)
      return keyboard
    },
  })
  const screen = {
    text: '',
    write(text: string) {
      screen.text += text
    },
  }
  return { keyboard, screen, terminal: { input: keyboard, output: screen } }
}

const reason = (text: string) => ({ code: 'PLINTH_IAM_PASSWORD_INPUT', message: `${text}.` })

t.test('a terminal prompts twice and does not show the input', async (t) => {
  const never = new AbortController().signal
  const typed = async (...keys: string[]) => {
    const { keyboard, screen, terminal } = fakeTerminal()
    const answer = readPassword({ fromStandardInput: false, signal: never, terminal })
    for (const key of keys) keyboard.write(key)
    const password = await answer.finally(() => {
      t.notMatch(screen.text, /[a-z]{2}cret|different/, 'nothing is shown')
      t.equal(keyboard.rawModes[0], true, 'the terminal does not echo')
      t.equal(keyboard.rawModes.at(-1), false, 'and does so again afterwards')
    })
    t.equal(screen.text, 'Password: \nRepeat the password: \n')
    return password
  }
  t.equal(await typed('my secret 密码\r', 'my secret 密码\r'), 'my secret 密码')
  t.equal(await typed('sss', '\x7f\x7f', 'ecret\r', 'secret\r'), 'secret', 'with corrections')
  t.equal(await typed('secret\rsecret\r'), 'secret', 'pasted at once')
  t.equal(await typed('secret\nsecret\n'), 'secret')
  await rejectsWith(t, typed('secret\r', 'different\r'), reason('The two passwords differ'))
})

t.test('a cancelled prompt returns no password', async (t) => {
  const requested = (signal = new AbortController().signal) => {
    const fake = fakeTerminal()
    return { ...fake, answer: readPassword({ fromStandardInput: false, signal, terminal: fake.terminal }) }
  }
  for (const keys of ['\r', 'secret\x03', '\x04', '\x03', 'secret\r\x03']) {
    const { keyboard, answer } = requested()
    keyboard.write(keys)
    await rejectsWith(t, answer, reason('No password was entered'), JSON.stringify(keys))
  }
  const stop = new AbortController()
  const { answer } = requested(stop.signal)
  stop.abort()
  await rejectsWith(t, answer, reason('No password was entered'), 'the command is stopped')
  const { terminal } = fakeTerminal()
  Object.assign(terminal.input, { isTTY: false })
  const pipe = readPassword({ fromStandardInput: false, signal: stop.signal, terminal })
  await rejectsWith(t, pipe, reason('Without a terminal, no password can be entered'))
})

t.test('standard input is read up to the first line break', async (t) => {
  const { signal } = new AbortController()
  const read = (...chunks: string[]) => {
    const { keyboard, terminal } = fakeTerminal()
    const answer = readPassword({ fromStandardInput: true, signal, terminal })
    for (const chunk of chunks) keyboard.write(chunk)
    keyboard.end()
    return answer
  }
  t.equal(await read('sec', 'ret\r\nmore\n'), 'secret')
  t.equal(await read('no end'), 'no end')
  await rejectsWith(t, read('\n'), reason('Standard input contains no password'))
  await rejectsWith(t, read(), reason('Standard input contains no password'))
})

const hasScript = spawnSync('script', ['--version']).status === 0

t.test('plinth admin create on a real pseudo terminal', { skip: !hasScript && 'no program script' }, async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const first = await startIam(t, db)
  await first.running.stop('the database is migrated')
  const directory = t.testdir({})
  const resolve = createRequire(import.meta.url).resolve
  const imports = ['database', 'http', 'iam'].map((name) => {
    return `import ${name} from ${JSON.stringify(resolve(`@plinth/${name}`))}`
  })
  writeFileSync(
    join(directory, 'plinth.config.ts'),
    `${imports.join('\n')}
import { defineProduct } from ${JSON.stringify(resolve('@plinth/kernel'))}
const config = ${JSON.stringify({ ...db.config, 'platform.iam.password.hash.memory': '1MiB' })}
export default defineProduct({ name: 'commands', plugins: [database, http, iam], config })
`,
  )
  const program = resolve('@plinth/kernel').replace('index.ts', 'cli/main.ts')
  const command = `${process.execPath} ${program} admin create --username root`
  const terminal = watchProcess(t, spawn('script', ['-qec', command, '/dev/null'], { cwd: directory }))
  for (const question of ['Password: ', 'Repeat the password: ']) {
    await terminal.until(() => terminal.output().includes(question), question)
    terminal.child.stdin?.write('typed-secret-1\r')
  }
  const [code] = await terminal.ended()
  const screen = terminal.output()
  t.equal(code, 0, screen)
  t.match(screen, /Created administrator "root"/)
  t.notMatch(screen, /typed-secret/)
  const second = await startIam(t, db)
  t.ok(await second.login('root', 'typed-secret-1'))
})
