import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { omitUndefined } from '@plinth/kernel'
import t from 'tap'
import { dataDirectory, runProgram, startProcess } from './fixtures/product-process.ts'

const product = join(import.meta.dirname, 'fixtures', 'with-acme.config.ts')
const secrets = {
  password: 'Planted-Password-4711',
  wrongPassword: 'Planted-Wrong-4712',
  room: 'planted-room-token-4713',
  otherRoom: 'planted-room-token-4714',
  masterKey: Buffer.from('planted-master-key-of-32-bytes!!').toString('base64'),
}

t.test(
  'K-009 no output of the whole product shows a secret, in plain text or in base64',
  { timeout: 600_000 },
  async (t) => {
    const directory = await dataDirectory(t.teardown)
    const settings = {
      'platform.database.sqlite.file': `${directory}/plinth.sqlite`,
      'platform.system-config.master-key': secrets.masterKey,
      'platform.log.level': 'trace',
    }
    const set = [
      '--product',
      product,
      ...Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]),
    ]
    const room = 'platform.acme.chat.room'
    const seen: string[] = []
    const program = async (words: readonly string[], input?: string) => {
      const response = await runProgram(
        [...words, ...set, '--set', `${room}=http://127.0.0.1:9/${secrets.room}`],
        input,
      )
      seen.push(response.stdout, response.stderr)
      return response
    }
    t.match(await program(['migrate']), { code: 0 })
    t.match(await program(['admin', 'create', '--username', 'root', '--password-stdin'], secrets.password), { code: 0 })

    const running = await startProcess(t, product, { ...settings, [room]: `http://127.0.0.1:9/${secrets.room}` })
    let token = ''
    const call = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(
        `${running.url}${path}`,
        omitUndefined({
          method,
          headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
          body: body === undefined ? undefined : JSON.stringify(body),
        }),
      )
      const text = await response.text()
      return { text, ...(text.startsWith('{') ? (JSON.parse(text) as { code?: string; data?: unknown }) : {}) }
    }
    const look = async (...request: Parameters<typeof call>) => {
      const response = await call(...request)
      seen.push(response.text)
      return response
    }
    t.hasStrict(await look('POST', '/api/v1/auth/login', { username: 'root', password: secrets.wrongPassword }), {
      code: '401',
    })
    // The response of a login must contain a secret, the token. No other response may.
    const login = await call('POST', '/api/v1/auth/login', { username: 'root', password: secrets.password })
    token = (login.data as { accessToken: string }).accessToken
    const hidden = { ...secrets, token }

    const centre = '/api/v1/admin/system-config'
    const change = (value: unknown) => ({
      changes: [{ key: room, action: 'set', value, expectedVersion: 0 }],
      verify: false,
    })
    t.hasStrict(await look('POST', `${centre}/changes`, change(`http://127.0.0.1:9/${secrets.otherRoom}`)), {
      code: '200',
    })
    t.hasStrict(await look('POST', `${centre}/changes`, change(`not a url ${secrets.otherRoom}`)), { code: '400' })
    for (const path of ['keys', `keys/${room}`, 'history', 'export', 'instances']) {
      t.hasStrict(await look('GET', `${centre}/${path}`), { code: '200' }, path)
    }
    t.hasStrict(
      await look('POST', '/api/v1/notifications/send', { channels: ['acme-chat', 'log'], subject: 'a', content: 'b' }),
      {
        code: '200',
      },
    )
    for (const path of [
      '/api/v1/admin/iam/audits',
      '/api/v1/admin/iam/login-audits',
      '/api/v1/notification-send-logs?channel=acme-chat',
      '/api/v1/iam/users/me/sessions',
    ]) {
      t.hasStrict(await look('GET', path), { code: '200' }, path)
    }
    for (const path of ['/docs/openapi.json', '/metrics', '/health/ready', '/nowhere']) await look('GET', path)
    for (const words of [
      ['config', 'list'],
      ['config', 'explain', room],
      ['config', 'export'],
      ['config', 'history'],
      ['doctor'],
    ]) {
      t.match(await program([...words, '--json']), { stdout: /./ }, words.join(' '))
    }
    t.match(await program(['start', '--set', 'platform.http.port=many']), { code: 3 })
    running.child.kill('SIGTERM')
    t.same(await running.ended(), [0, null])
    seen.push(running.output())

    const files = readdirSync(directory).map((name) => readFileSync(join(directory, name)))
    for (const [name, secret] of Object.entries(hidden)) {
      for (const form of [secret, Buffer.from(secret).toString('base64').replace(/=+$/, '').slice(0, -1)]) {
        t.notOk(
          seen.some((text) => text.includes(form)),
          `${name} is in no answer, log line or message`,
        )
        t.notOk(
          files.some((bytes) => bytes.includes(form)),
          `${name} is not in the database file`,
        )
      }
    }
    t.ok(seen.length > 20)
  },
)

t.test(
  'K-009 values that are only previewed grant no access, however long and however many they are',
  { timeout: 600_000 },
  async (t) => {
    const directory = await dataDirectory(t.teardown)
    const room = 'platform.acme.chat.room'
    const settings = {
      'platform.database.sqlite.file': `${directory}/plinth.sqlite`,
      'platform.system-config.master-key': secrets.masterKey,
      'platform.install.token': secrets.room,
      [room]: `http://127.0.0.1:9/${secrets.otherRoom}`,
    }
    const set = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`])
    t.match(await runProgram(['migrate', '--product', product, ...set]), { code: 0 })
    const create = ['admin', 'create', '--username', 'root', '--password-stdin', '--product', product, ...set]
    t.match(await runProgram(create, secrets.password), { code: 0 })
    const running = await startProcess(t, product, settings)
    const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
      const all = { 'content-type': 'application/json', ...headers }
      const response = await fetch(`${running.url}${path}`, {
        method: 'POST',
        headers: all,
        body: JSON.stringify(body),
      })
      return { status: response.status, text: await response.text() }
    }
    const login = await post('/api/v1/auth/login', { username: 'root', password: secrets.password })
    const authorization = `Bearer ${JSON.parse(login.text).data.accessToken}`
    const preview = (value: string) =>
      post(
        '/api/v1/admin/system-config/changes/preview',
        { changes: [{ key: room, action: 'set', value, expectedVersion: 0 }] },
        { authorization },
      )
    const rejected = { code: '200', data: { errors: [{ field: room, rule: 'maxLength' }] } }
    t.match(JSON.parse((await preview(`http://127.0.0.1:9/${'p'.repeat(100_000)}`)).text), rejected)
    for (let index = 0; index < 60; index++) {
      const { text } = await preview(`http://127.0.0.1:9/${index}${'p'.repeat(900_000)}`)
      // The call is rejected by the rule of the key. If the rate limit is used up, it is rejected with code 429
      // instead.
      const response = JSON.parse(text)
      t.match(response, response.code === '429' ? { data: { reason: String } } : rejected)
      t.ok(text.length < 2000)
    }
    const ready = await fetch(`${running.url}/health/ready`)
    const responses = [
      { status: ready.status, text: await ready.text() },
      await post('/api/v1/install/preflight', {}),
      await post('/api/v1/install/config/plan', { token: 'guess' }),
      await post('/api/v1/auth/login', { username: 'root', password: secrets.wrongPassword }),
    ]
    t.equal(ready.status, 200)
    for (const { text } of responses) {
      const { code, message } = JSON.parse(text)
      t.equal(typeof code, 'string')
      t.not(code, '500', message)
      for (const [name, secret] of Object.entries(secrets)) t.notOk(text.includes(secret), name)
    }
    running.child.kill('SIGTERM')
    t.same(await running.ended(), [0, null])
    for (const [name, secret] of Object.entries(secrets)) t.notOk(running.output().includes(secret), name)
  },
)
