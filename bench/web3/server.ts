import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import database from '@plinth/database'
import http, { http as httpServer } from '@plinth/http'
import i18n from '@plinth/i18n'
import iam, { accounts, identity } from '@plinth/iam'
import idempotency from '@plinth/idempotency'
import { definePlugin, defineProduct } from '@plinth/kernel'
import { startProduct } from '@plinth/kernel/host'
import openPlatform from '@plinth/open-platform'
import outgoingHttp from '@plinth/outgoing-http'
import rateLimit from '@plinth/rate-limit'
import memoryStore from '@plinth/rate-limit-stores/memory'
import sharedStore from '@plinth/shared-store'
import site from '@plinth/site'
import systemConfig from '@plinth/system-config'
import web3, { walletVerifier } from '@plinth/web3'
import { Type } from 'typebox'

/** Plugin with routes that have neither a limit nor a request signature, so that only the verification is measured. */
const bench = definePlugin({
  id: 'bench',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http: httpServer, walletVerifier },
  setup({ services: { http: server, walletVerifier: verifier } }) {
    const text = Type.String({ maxLength: 65_536 })
    const response = Type.Object({ valid: Type.Boolean() })
    const open = { method: 'POST', access: 'public', response } as const
    server.route({
      ...open,
      path: '/api/v1/bench/personal/verify',
      summary: 'Verify a message',
      request: { body: Type.Object({ address: text, message: text, signature: text }) },
      handler: ({ body }) => ({ valid: verifier.verifyPersonal(body).valid }),
    })
    server.route({
      ...open,
      path: '/api/v1/bench/typed-data/verify',
      summary: 'Verify typed data',
      request: { body: Type.Object({ address: text, typedData: text, signature: text }) },
      handler: ({ body }) => ({ valid: verifier.verifyTypedData(body).valid }),
    })
  },
})

/**
 * Program with a product that verifies signatures. It sends its address, and an application for the open endpoints, to
 * the parent process.
 */
const directory = mkdtempSync(join(tmpdir(), 'plinth-bench-web3-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const product = defineProduct({
  name: 'bench',
  plugins: [
    database,
    http,
    site,
    i18n,
    iam,
    idempotency,
    sharedStore,
    systemConfig,
    outgoingHttp,
    openPlatform,
    rateLimit,
    memoryStore,
    web3,
    bench,
  ],
  config: {
    'platform.database.sqlite.file': join(directory, 'bench.sqlite'),
    'platform.http.host': '127.0.0.1',
    'platform.http.port': 0,
    'platform.log.level': 'warn',
    'platform.rate-limit.default-store': 'memory',
    'platform.system-config.master-key-file': join(directory, 'master.key'),
  },
})
const running = await startProduct(product, { envFile: false })
const actor = { name: 'bench', clientIp: '', traceId: '', userAgent: '' }
const password = 'a password of the bench'
const { account } = await running.service(accounts).createAdministrator({ username: 'admin', password }, actor)
const attempt = { ...actor, method: 'bench', identifier: 'admin', setHeader() {} }
const { accessToken } = await running.service(identity).openSession(account?.id ?? 0, attempt)
const server = running.service(httpServer)
const created = await server.inject({
  method: 'POST',
  url: '/api/v1/admin/open-platform/apps',
  headers: { authorization: `Bearer ${accessToken}` },
  payload: {
    name: 'bench',
    scopes: ['web3:wallet-signature:personal:verify', 'web3:wallet-signature:typed-data:verify'],
    rateLimitPerMinute: 0,
  },
})
const { appKey, secret } = created.json().data
process.on('SIGTERM', () => running.stop('SIGTERM').then(() => process.exit(0)))
process.send?.({ url: server.url, appKey, secret })
