/**
 * Measures the verification of wallet signatures: each backend compared with viem, and how 200 verifications per second
 * affect the health requests of a product. `--seconds 20` sets the duration of the second part.
 */
import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { Agent, request as send } from 'node:http'
import { availableParallelism, loadavg } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { canonicalRequest, signatureHeaders, signatureOf } from '@plinth/open-platform'
import * as viem from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { javascriptBackend, nativeBackend } from '../../plugins/web3/src/signatures/recovery.ts'
import { createWalletVerifier } from '../../plugins/web3/src/signatures/wallet-verifier.ts'
import { BenchChildProcess } from '../kernel/child-process.ts'
import { barsText, ratioText, sectionText } from '../kernel/report.ts'
import { median, quantile, ratio, rotated } from '../kernel/statistics.ts'

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '20' }, rounds: { type: 'string', default: '9' } },
})
const seconds = Number(values.seconds)
const rounds = Number(values.rounds)
const turnMs = 150
const perSecond = 200

const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const message = 'app.example.com wants you to sign in with your Ethereum account.\n'.repeat(5)
const typed = {
  types: {
    Person: [
      { name: 'name', type: 'string' },
      { name: 'wallet', type: 'address' },
    ],
    Mail: [
      { name: 'from', type: 'Person' },
      { name: 'to', type: 'Person' },
      { name: 'contents', type: 'string' },
    ],
  },
  primaryType: 'Mail',
  domain: {
    name: 'Ether Mail',
    version: '1',
    chainId: 1,
    verifyingContract: '0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC',
  },
  message: {
    from: { name: 'Cow', wallet: '0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826' },
    to: { name: 'Bob', wallet: '0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB' },
    contents: 'Hello, Bob!',
  },
} as const
const personal = { address: account.address, message, signature: await account.signMessage({ message }) }
const document = {
  address: account.address,
  signature: await account.signTypedData(typed),
  typedData: JSON.stringify(typed),
  chainId: 1,
}

const native = createWalletVerifier(nativeBackend())
const javascript = createWalletVerifier(await javascriptBackend())
const candidates: Readonly<Record<string, () => boolean | Promise<boolean>>> = {
  'personal, native': () => native.verifyPersonal(personal).valid,
  'personal, javascript': () => javascript.verifyPersonal(personal).valid,
  'personal, viem': () => viem.verifyMessage(personal),
  'typed data, native': () => native.verifyTypedData(document).valid,
  'typed data, javascript': () => javascript.verifyTypedData(document).valid,
  'typed data, viem': () => viem.verifyTypedData({ ...typed, address: account.address, signature: document.signature }),
}
const names = Object.keys(candidates)
/** CPU time in microseconds per verification, by candidate and round. */
const costs = Object.fromEntries(names.map((name) => [name, [] as number[]]))
const cpu = () => process.cpuUsage().user + process.cpuUsage().system
for (let round = 0; round <= rounds; round++) {
  for (const name of rotated(names, round)) {
    const verify = candidates[name] as () => boolean | Promise<boolean>
    const startedAt = cpu()
    let calls = 0
    let used = 0
    for (; used < 1000 * turnMs; used = cpu() - startedAt, calls++)
      if (!(await verify())) throw new Error(`${name}: not valid`)
    // The first round is the warm-up and is not counted.
    if (round > 0) costs[name]?.push(used / calls)
  }
}
const of = (name: string) => costs[name] ?? []
const against = (name: string, kind: string) => ratio(of(`${kind}, viem`), of(`${kind}, ${name}`))

interface Started {
  readonly url: string
  readonly appKey: string
  readonly secret: string
}
const child = fork(new URL('server.ts', import.meta.url), { execArgv: ['--disable-warning=ExperimentalWarning'] })
const [{ url, appKey, secret }] = (await once(child, 'message')) as [Started]
process.once('exit', () => child.kill('SIGKILL'))
const agent = new Agent({ keepAlive: true, maxSockets: 64 })
const { hostname, port } = new URL(url)

/** Number of requests that the load shedder has rejected. The report shows this number without a target. */
let refused = 0

/** Returns the milliseconds until the end of the response. */
async function timed(
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body = '',
): Promise<number> {
  const startedAt = performance.now()
  const request = send({
    hostname,
    port,
    method,
    path,
    agent,
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
  })
  request.end(body)
  const [response] = await once(request, 'response')
  let text = ''
  for await (const chunk of response) text += chunk
  if (text.includes('http.overloaded')) refused++
  else if (method === 'POST' && !text.includes('"valid":true')) throw new Error(text)
  return performance.now() - startedAt
}
type Way = 'direct' | 'open'

function verification(at: number, way: Way): Promise<number> {
  const isTyped = at % 2 === 0
  const target = `/api/v1/open/web3/chains/evm/wallet-signatures/${isTyped ? 'typed-data' : 'personal'}/verify`
  const { chainId: _, ...typedBody } = document
  const body = JSON.stringify(isTyped ? typedBody : personal)
  if (way === 'direct') {
    const path = `/api/v1/bench/${isTyped ? 'typed-data' : 'personal'}/verify`
    return timed('POST', path, { 'content-type': 'application/json' }, body)
  }
  const [timestamp, nonce] = [String(Math.floor(Date.now() / 1000)), randomUUID()]
  const canonical = canonicalRequest({ method: 'POST', target, body: Buffer.from(body), timestamp, nonce }) ?? ''
  const signed = {
    [signatureHeaders.appKey]: appKey,
    [signatureHeaders.timestamp]: timestamp,
    [signatureHeaders.nonce]: nonce,
    [signatureHeaders.signature]: signatureOf(secret, canonical),
  }
  return timed('POST', target, { 'content-type': 'application/json', ...signed }, body)
}

const prober = new BenchChildProcess(join(import.meta.dirname, '..', 'overload', 'prober.ts'), [port])

/**
 * Sends health requests for some seconds, with or without verifications at the same time. Verifications are sent
 * without waiting for earlier ones.
 */
async function healthDuring(verificationsPerSecond: number, way: Way = 'direct') {
  refused = 0
  const verifications: Promise<number>[] = []
  await prober.ask({})
  const startedAt = performance.now()
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - startedAt) / 1000) * verificationsPerSecond)
    while (verifications.length < due) verifications.push(verification(verifications.length, way))
  }, 5)
  await new Promise((resolve) => setTimeout(resolve, 1000 * seconds))
  clearInterval(timer)
  const health = await prober.ask<number[]>({})
  return { health, took: await Promise.all(verifications), refused }
}
// Sends direct and signed verifications before the measurement, so that the compilation of the code is not measured.
await healthDuring(perSecond / 4)
await healthDuring(perSecond / 4, 'open')
const idle = await healthDuring(0)
const busy = await healthDuring(perSecond)
const signed = await healthDuring(perSecond, 'open')
await prober.end()
child.kill('SIGTERM')
agent.destroy()

const ms = (value: number) => value.toFixed(1)
const line = (name: string, list: readonly number[]) => [
  name,
  ...(list.length === 0 ? ['', '', ''] : [ms(median(list)), ms(quantile(list, 0.99)), String(list.length)]),
]
const tables = [
  [
    ['verification', 'us CPU', 'per second of CPU', 'times viem'],
    ...names.map((name) => {
      const [kind = '', candidate = ''] = name.split(', ')
      const cost = median(of(name))
      return [
        name,
        cost.toFixed(0),
        (1e6 / cost).toFixed(0),
        candidate === 'viem' ? '' : ratioText(against(candidate, kind)),
      ]
    }),
  ],
  [
    ['requests over HTTP', 'median ms', 'p99 ms', 'number'],
    line('health, nothing beside', idle.health),
    line(`health, ${perSecond} verifications a second beside`, busy.health),
    line('these verifications', busy.took),
    line(`health, ${perSecond} signed calls of the open endpoints a second beside`, signed.health),
    line('these calls', signed.took),
  ],
]
const notes = [
  'liveness is asked by a process of its own, every 20 ms on a new connection',
  `medians of ${rounds} turns of ${turnMs} ms of CPU; half of the verifications over HTTP are of typed data`,
  `refused because the product had too much to do: ${busy.refused} verifications, ${signed.refused} signed calls`,
  `load of the machine at the end: ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} processors`,
]
console.log(sectionText({ title: 'Wallet signatures', tables, notes, bars: [] }))
console.log(
  `\n${barsText([
    { name: 'personal, native / viem', measured: against('native', 'personal'), bar: { atLeast: 12 }, unit: 'ratio' },
    {
      name: 'typed data, native / viem',
      measured: against('native', 'typed data'),
      bar: { atLeast: 5 },
      unit: 'ratio',
    },
    { name: 'p99 of a health request', measured: quantile(busy.health, 0.99), bar: { atMost: 20 }, unit: 'ms' },
  ])}`,
)
