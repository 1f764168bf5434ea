/** Tests that no secret and no data of a machine become part of an image or of a repository. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { templateFiles } from '../../dev/src/create/templates.ts'
import { isInContext } from './dockerfile-steps.ts'

const root = join(import.meta.dirname, '..', '..')
const created = templateFiles(['product', 'deploy', 'presets/standard'], 'my-shop')
const read = (file: string) => created.get(file) ?? readFileSync(join(root, file), 'utf8')

/** Files that belong to one machine, and must not leave it. */
const secrets = [
  '.env',
  '.env.local',
  '.env.prod',
  '.envrc',
  'deploy/.env',
  'deploy/.env.prod',
  'deploy/certs/privkey.pem',
  'examples/quickstart/.env',
  'master.key',
  'certs/server.key',
  'certs/server.pem',
  'plugins/acme-channel/.env',
  'plugins/acme-channel/test/.env.test',
  'data/master.key',
  'data/plinth.sqlite',
  'data/storage/private/1.pdf',
  'examples/quickstart/data/plinth.sqlite',
  'backup/files.tar.gz',
  'backup/shop.dump',
  'plinth.log',
  'plugins/acme-channel/npm-debug.log',
  'node_modules/pino/index.js',
  'plugins/acme-channel/node_modules/pino/index.js',
]
/** Files that an image does not need. Some of them contain secrets. A repository may contain them. */
const onlyForBuilds = [
  '.git/config',
  'plugins/acme-channel/.git/config',
  '.npmrc',
  'plugins/acme-channel/.npmrc',
  'deploy/compose.cluster.yaml',
  'deploy/secrets/postgres-password',
]
const needed = [
  'package.json',
  'package-lock.json',
  'plinth.config.ts',
  'plinth.lock.json',
  '.env.example',
  'examples/quickstart/.env.example',
  'plugins/acme-channel/package.json',
  'plugins/acme-channel/src/plugin.ts',
  'plugins/acme-channel/src/environment.ts',
  'plugins/acme-channel/src/data.ts',
  'plugins/acme-channel/src/database/keys.ts',
  'plugins/acme-channel/dist/plugin.js',
]

t.test('an image of a created product contains no secrets and no data', async (t) => {
  const files = [...created.keys()].filter((path) => path !== '.env' && !path.startsWith('deploy/'))
  const paths = [...secrets, ...onlyForBuilds, ...needed, ...files]
  const rejected = new Set([...secrets, ...onlyForBuilds])
  t.same(
    paths.filter(isInContext(read('deploy/Dockerfile.dockerignore'))),
    paths.filter((path) => !rejected.has(path)),
  )
})

for (const [name, rules] of [
  ['this repository', readFileSync(join(root, '.gitignore'), 'utf8')],
  ['a created product', read('.gitignore')],
] as const) {
  t.test(`Git adds no secrets and no data to ${name}`, async (t) => {
    const cwd = t.testdir({ '.gitignore': rules })
    const git = (words: readonly string[], input = '') =>
      spawnSync('git', ['-c', 'core.excludesFile=', ...words], { cwd, input, encoding: 'utf8' })
    t.equal(git(['init', '--quiet']).status, 0)
    const paths = [...secrets, ...needed].filter((path) => !path.includes('/dist/'))
    const ignored = git(['check-ignore', '--no-index', '--stdin'], paths.join('\n')).stdout.trim().split('\n')
    t.same(
      ignored,
      paths.filter((path) => secrets.includes(path)),
    )
  })
}
