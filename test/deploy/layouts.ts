/** The deployments that a created product contains, read from their files: users, environments, writable directories. */
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Test } from 'tap'
import { parse, parseAllDocuments } from 'yaml'
import { templateFiles } from '../../dev/src/create/templates.ts'
import { deployFile } from './deploy-files.ts'
import { type BuiltImage, buildImage, isInContext } from './dockerfile-steps.ts'

const repository = join(import.meta.dirname, '..', '..')

/** Numeric user of the service. systemd gives it the next free number. */
const serviceUser = 1000

export interface Layout {
  readonly name: string
  readonly dialect: 'sqlite' | 'postgresql'
  /** Directory of the product on the host. */
  readonly workdir: string
  /** Absolute paths that the user may write. */
  readonly writable: readonly string[]
  readonly user: number
  readonly command: readonly string[]
  /** Environment of each instance. */
  readonly instances: readonly Readonly<Record<string, string>>[]
  /** Fields of the installer that the environment fixes. */
  readonly fixed: readonly string[]
}

/** Values that the operator writes into the environment of the engine, into `deploy/.env` or into a secret. */
export const secrets = {
  SITE: 'shop.example.com',
  PLATFORM_INSTALL_TOKEN: 'abcdefghijklmnopqrstuvwxyz0123456789',
  POSTGRES_PASSWORD: 'Db-secret-word-77',
  REDIS_PASSWORD: 'Redis "secret" word',
}

/** Packages of the product: links to those of this repository, instead of `npm ci`. */
function linkPackages(directory: string): void {
  const modules = join(directory, 'node_modules')
  mkdirSync(modules)
  for (const name of readdirSync(join(repository, 'node_modules'))) {
    if (name !== '.cache') symlinkSync(join(repository, 'node_modules', name), join(modules, name))
  }
}

/** Writes a created product with the secrets and the data of a developer, which no deployment may contain. */
function writeProduct(directory: string, productFile?: string): void {
  const files = new Map(templateFiles(['product', 'deploy', 'presets/standard'], 'shop'))
  files.set('package-lock.json', '{}').set('data/master.key', 'of the developer').set('data/plinth.sqlite', 'rows')
  if (productFile !== undefined) files.set('plinth.config.ts', productFile)
  for (const [path, text] of files) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), text, { mode: path === '.env' ? 0o600 : 0o644 })
  }
}

/** The product directory of an image and of a service. */
export interface Built {
  readonly image: BuiltImage
  /** Directory on this machine by layout directory: `/app` and `/opt/shop`. */
  readonly directories: Readonly<Record<string, string>>
}

/** Builds the product for all layouts. */
export async function buildProduct(directory: string, productFile?: string): Promise<Built> {
  const [context, service] = [join(directory, 'context'), join(directory, 'service')]
  writeProduct(context, productFile)
  const image = await buildImage(context, directory, linkPackages)
  // `git archive` copies committed files only. Git ignores the same files as the image.
  const isCommitted = isInContext(deployFile('deploy/Dockerfile.dockerignore'))
  cpSync(context, service, { recursive: true, filter: (path) => isCommitted(path.slice(context.length + 1)) })
  linkPackages(service)
  return { image, directories: { '/app': image.pathOf('/app'), '/opt/shop': service } }
}

const composed = (text: string) =>
  text.replaceAll(/\$\{(\w+)(?::[-?])?\}/g, (_, name: string) => Reflect.get(secrets, name) ?? '')

interface Service {
  readonly volumes: readonly string[]
  readonly read_only: boolean
  readonly environment: Readonly<Record<string, string>>
  readonly command: readonly string[]
}

function servicesOf(file: string): ReadonlyMap<string, Service> {
  return new Map(Object.entries<Service>(parse(deployFile(file), { merge: true }).services))
}

const environmentFrom = (values: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, composed(value)]))

function composeLayout(t: Test, image: BuiltImage, file: string, more: Pick<Layout, 'dialect' | 'fixed'>): Layout {
  const apps = [...servicesOf(file)].flatMap(([name, service]) => (name.startsWith('app') ? [service] : []))
  t.ok(apps.length > 0 && apps.every((app) => app.read_only), `${file}: the file system is read-only`)
  return {
    name: file,
    workdir: '/app',
    writable: (apps[0]?.volumes ?? []).map((volume) => volume.split(':')[1] ?? ''),
    user: image.user,
    command: image.command,
    instances: apps.map(({ environment }) => ({ ...image.environment, ...environmentFrom(environment) })),
    ...more,
  }
}

function kubernetesLayout(t: Test, image: BuiltImage, fixed: Layout['fixed']): Layout {
  const manifests = parseAllDocuments(deployFile('deploy/kubernetes/shop.yaml')).map((document) => document.toJS())
  const one = (kind: string) => manifests.find((manifest) => manifest.kind === kind)
  const { securityContext, containers } = one('Deployment').spec.template.spec
  t.equal(containers[0].securityContext.readOnlyRootFilesystem, true)
  const environment = {
    ...image.environment,
    ...one('ConfigMap').data,
    PLATFORM_INSTALL_TOKEN: secrets.PLATFORM_INSTALL_TOKEN,
    PLATFORM_DATABASE_PASSWORD: secrets.POSTGRES_PASSWORD,
    PLATFORM_CACHE_PASSWORD: secrets.REDIS_PASSWORD,
    PLATFORM_SYSTEM_CONFIG_MASTER_KEY: 'K'.repeat(43),
  }
  const mounts: { name: string; mountPath: string }[] = containers[0].volumeMounts
  return {
    name: 'deploy/kubernetes/shop.yaml',
    dialect: 'postgresql',
    workdir: '/app',
    writable: mounts.flatMap(({ name, mountPath }) => (name === 'temporary' ? [] : [mountPath])),
    user: securityContext.runAsUser,
    command: image.command,
    instances: Array.from({ length: one('Deployment').spec.replicas }, () => environment),
    fixed,
  }
}

function systemdLayout(fixed: Layout['fixed']): Layout {
  const unit = deployFile('deploy/systemd/shop.service')
  const all = (name: string) => [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value)
  const environment = Object.fromEntries(all('Environment').map((entry) => entry.split('=', 2)))
  return {
    name: 'deploy/systemd/shop.service',
    dialect: 'sqlite',
    workdir: all('WorkingDirectory')[0] ?? '',
    writable: [...all('StateDirectory').map((name) => `/var/lib/${name}`), `/var/cache/${all('CacheDirectory')[0]}`],
    user: serviceUser,
    command: (all('ExecStart')[0] ?? '').split(' '),
    instances: [{ ...environment, PATH: '/usr/bin', PLATFORM_INSTALL_TOKEN: secrets.PLATFORM_INSTALL_TOKEN }],
    fixed,
  }
}

const databaseFields = ['type', 'host', 'database', 'username', 'password'].map((name) => `database.${name}`)
const serverFields = [...databaseFields, 'cache.enabled', 'cache.host', 'cache.password']

/** Returns all layouts. The environments are those of the files, with the secrets above. */
export function layoutsOf(t: Test, { image }: Built): readonly Layout[] {
  const token = { PLATFORM_INSTALL_TOKEN: secrets.PLATFORM_INSTALL_TOKEN }
  return [
    {
      name: 'deploy/Dockerfile',
      dialect: 'sqlite',
      workdir: '/app',
      writable: ['/app/data'],
      user: image.user,
      command: image.command,
      instances: [{ ...image.environment, ...token }],
      fixed: [],
    },
    composeLayout(t, image, 'deploy/compose.yaml', { dialect: 'sqlite', fixed: [] }),
    systemdLayout(['database.database']),
    composeLayout(t, image, 'deploy/compose.cluster.yaml', { dialect: 'postgresql', fixed: serverFields }),
    kubernetesLayout(t, image, serverFields),
  ]
}

/** Returns the command of Redis in the cluster, as the engine passes it to the container. */
export const redisCommand = (): readonly string[] =>
  servicesOf('deploy/compose.cluster.yaml')
    .get('redis')
    ?.command.map((word) => word.replaceAll('$$', '$')) ?? []
