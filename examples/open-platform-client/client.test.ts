import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import database from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import http, { http as httpRef } from '@plinth/http'
import i18n from '@plinth/i18n'
import iam, { accounts } from '@plinth/iam'
import { defineProduct } from '@plinth/kernel'
import openPlatform from '@plinth/open-platform'
import rateLimit from '@plinth/rate-limit'
import memoryStore from '@plinth/rate-limit-stores/memory'
import sharedStore from '@plinth/shared-store'
import site from '@plinth/site'
import systemConfig from '@plinth/system-config'
import t, { type Test } from 'tap'
import { type Credentials, createOpenClient, signedHeaders } from './client.ts'

const here = import.meta.dirname
const vectorFile = join(here, '..', '..', 'plugins', 'open-platform', 'signature-vectors.json')
const { appKey, secret, vectors }: { appKey: string; secret: string; vectors: readonly Vector[] } = JSON.parse(
  readFileSync(vectorFile, 'utf8'),
)

interface Vector {
  readonly name: string
  readonly method: string
  readonly target: string
  readonly body: string
  readonly timestamp: string
  readonly nonce: string
  readonly encoded: boolean
  readonly signature: string
}

const run = promisify(execFile)
const script = join(here, 'sign.sh')
const isInstalled = (program: string, ...args: string[]) =>
  run(program, args).then(
    () => true,
    () => false,
  )
const skipShell =
  (await isInstalled('openssl', 'version')) && (await isInstalled('curl', '--version'))
    ? false
    : 'no openssl or no curl'

function temporaryDirectory(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), 'plinth-open-client-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** Starts a product with one application. */
async function startProduct(t: Test): Promise<{ base: string; credentials: Credentials }> {
  const directory = temporaryDirectory(t)
  const product = defineProduct({
    name: 'example',
    plugins: [database, http, site, i18n, iam, memoryStore, openPlatform, rateLimit, sharedStore, systemConfig],
    config: {
      'platform.database.sqlite.file': join(directory, 'data.sqlite'),
      'platform.http.port': 0,
      'platform.http.context-path': '/shop',
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
      'platform.system-config.master-key-file': join(directory, 'master.key'),
    },
  })
  const running = await startForTest(product)
  t.teardown(() => running.stop('test ended'))
  const base = running.service(httpRef).url ?? ''
  const administrator = { username: 'admin', password: 'correct horse battery staple' }
  const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: '' }
  await running.service(accounts).createAdministrator(administrator, origin)
  const post = async (path: string, body: object, token = '') => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    const response = await fetch(`${base}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    return ((await response.json()) as { data: Record<string, string> }).data
  }
  const { accessToken } = await post('/api/v1/auth/login', administrator)
  const app = await post('/api/v1/admin/open-platform/apps', { name: 'Example' }, accessToken)
  return { base, credentials: { appKey: app['appKey'] ?? '', secret: app['secret'] ?? '' } }
}

t.test('C-049 the TypeScript client signs as in the test vectors', async (t) => {
  for (const { name, method, target, body, timestamp, nonce, signature } of vectors) {
    const { pathname: path, search } = new URL(target, 'https://partner.example')
    const headers = signedHeaders({ appKey, secret }, { method, path, search, body }, nonce, timestamp)
    t.same(
      headers,
      {
        'X-Open-App-Key': appKey,
        'X-Open-Timestamp': timestamp,
        'X-Open-Nonce': nonce,
        'X-Open-Signature': signature,
      },
      name,
    )
  }
})

t.test('C-049 the shell client signs as in the test vectors', { skip: skipShell }, async (t) => {
  const directory = temporaryDirectory(t)
  writeFileSync(join(directory, 'curl'), '#!/bin/sh\nfor word in "$@"; do printf "%s\\0" "$word"; done\n')
  chmodSync(join(directory, 'curl'), 0o755)
  for (const { name, method, target, body, timestamp, nonce, signature } of vectors.filter(({ encoded }) => encoded)) {
    const env = {
      PATH: `${directory}:${process.env['PATH']}`,
      OPEN_APP_KEY: appKey,
      OPEN_APP_SECRET: secret,
      OPEN_TIMESTAMP: timestamp,
      OPEN_NONCE: nonce,
    }
    const url = `https://partner.example/shop${target}`
    const { stdout } = await run(script, [method, url, body], { env })
    const words = stdout.split('\0')
    t.ok(words.includes(`X-Open-Signature: ${signature}`), name)
    t.ok(words.includes(`X-Open-Nonce: ${nonce}`))
    t.equal(words.at(-2), url)
    if (body !== '') t.equal(words[words.indexOf('--data-binary') + 1], body, 'the bytes that were signed')
  }
})

t.test('A25 both clients call a running product', async (t) => {
  const { base, credentials } = await startProduct(t)
  const caller = { appKey: credentials.appKey, name: 'Example', scopes: [] }

  await t.test('TypeScript', async (t) => {
    const client = createOpenClient(credentials, base)
    t.hasStrict((await client.GET('/api/v1/open/whoami')).data, { code: '200', data: caller })
    const below = createOpenClient(credentials, `${base}/shop`)
    const querySerializer = () => 'b=x y&a=é&a=1&c'
    const { data: answer } = await below.GET('/api/v1/open/whoami', { querySerializer })
    t.hasStrict(answer, { code: '200', data: caller }, 'below a context path')
    const message = 'é 漢字 😀 "quoted"'
    const { data: echo } = await client.POST('/api/v1/open/echo', { body: { message } })
    t.strictSame(echo?.code === '200' && echo.data, { ...caller, message })
    // @ts-expect-error a message is a text
    const { data: refused } = await client.POST('/api/v1/open/echo', { body: { message: 1 } })
    t.hasStrict(refused, { code: '400' })
    const wrong = createOpenClient({ ...credentials, secret: 'plinth_open_wrong' }, base)
    const { data: unsigned } = await wrong.GET('/api/v1/open/whoami')
    t.hasStrict(unsigned, { code: '401', data: { reason: 'open-platform.signature-invalid' } })
  })

  await t.test('shell', { skip: skipShell }, async (t) => {
    const env = {
      PATH: process.env['PATH'],
      OPEN_APP_KEY: credentials.appKey,
      OPEN_APP_SECRET: credentials.secret,
    }
    const call = async (...words: string[]) => JSON.parse((await run(script, words, { env })).stdout)
    t.hasStrict(await call('GET', `${base}/api/v1/open/whoami`), { code: '200', data: caller })
    const query = 'b=2&a=%E6%BC%A2&a-b=1&a=1&c'
    t.hasStrict(await call('GET', `${base}/shop/api/v1/open/whoami?${query}`), { code: '200', data: caller })
    const message = "é 漢字 😀 it's $HOME `date` \\n"
    const answer = await call('POST', `${base}/api/v1/open/echo`, JSON.stringify({ message }))
    t.match(answer, { code: /^200$/, data: { message } })
  })
})
