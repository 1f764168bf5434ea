/** Runs the instructions of a Dockerfile one by one, in directories of this machine instead of images. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { cp, mkdir, readdir, stat } from 'node:fs/promises'
import { basename, isAbsolute, join, relative, resolve } from 'node:path'
import { freePort, programEnvironment, watchProcess } from '@plinth/kernel/testing'
import { type Copy, DockerfileParser, type Instruction, type JSONInstruction } from 'dockerfile-ast'
import type { Test } from 'tap'

const folder = join(import.meta.dirname, '..', '..', 'deploy')

/**
 * Builds an image of a product with `deploy/Dockerfile`.
 *
 * @param context directory of the product
 * @param directory directory that contains the context and the archives of its packages
 */
export async function buildImage(context: string, directory: string): Promise<BuiltImage> {
  const ignored = readFileSync(join(folder, 'Dockerfile.dockerignore'), 'utf8').trim().split('\n')
  const dockerfile = readFileSync(join(folder, 'Dockerfile'), 'utf8')
  return runDockerfile({ dockerfile, context, directory, isIncluded: (path) => !ignored.includes(path) })
}

/** Runs the command and the health check of an image, and stops it. */
export async function checkImage(t: Test, image: BuiltImage): Promise<void> {
  const app = image.pathOf('/app')
  t.notOk(existsSync(join(app, '.env')), 'secrets of this machine are not part of the image')
  t.equal((await stat(join(app, 'data'))).mode & 0o777, 0o700)

  const files = await filesOf(app)
  t.ok(files.size > 100)
  const environment = { PLATFORM_HTTP_PORT: String(await freePort()), PLATFORM_HTTP_HOST: '127.0.0.1' }
  t.not(image.healthOf(environment), 0, 'a product that does not run is not healthy')
  const running = watchProcess(t, image.start(environment))
  await running.until(() => running.output().includes('"started"'), 'it starts')
  t.equal(image.healthOf(environment), 0, 'it is healthy')
  t.same(await running.end('SIGTERM'), [0, null], 'it stops')
  t.ok(existsSync(join(app, 'data', 'plinth.sqlite')))
  t.same(await filesOf(app), files, 'it writes only to its data directory and to the compile cache')
}

/**
 * Returns the size and the modification time of each file of a product outside of its data directory. The compile cache
 * is not included: Node.js adds modules that are loaded for the first time, and continues if it cannot write.
 */
async function filesOf(app: string): Promise<ReadonlyMap<string, string>> {
  const entries = await readdir(app, { recursive: true, withFileTypes: true })
  const written = ['data', join('node_modules', '.cache')]
  const files = entries.filter(
    (entry) => entry.isFile() && !written.some((folder) => relative(app, entry.parentPath).startsWith(folder)),
  )
  return new Map(
    await Promise.all(
      files.map(async ({ parentPath, name }) => {
        const { size, mtimeMs } = await stat(join(parentPath, name))
        return [join(parentPath, name), `${size} ${mtimeMs}`] as const
      }),
    ),
  )
}

/** Result of the instructions of a Dockerfile. */
export interface BuiltImage {
  /** Returns the directory on this machine that represents a path of the image. */
  pathOf(path: string): string
  /** Starts the command of the image. */
  start(environment: Readonly<Record<string, string>>): ChildProcess
  /** Runs the health check of the image and returns its exit code. */
  healthOf(environment: Readonly<Record<string, string>>): number | null
}

interface Stage {
  readonly root: string
  workdir: string
  readonly environment: Record<string, string>
  command: readonly string[]
  healthCheck: string
}

interface Build {
  readonly dockerfile: string
  readonly context: string
  /**
   * Directory for the stages. It is next to the build context, so that relative paths to other files are the same in
   * both.
   */
  readonly directory: string
  /** Returns whether `.dockerignore` allows the build to copy a path of the context. */
  readonly isIncluded: (path: string) => boolean
}

/**
 * Instructions that only change how a container engine runs the image, or who owns files. They have no effect in this
 * test.
 */
const withoutEffectHere = new Set(['USER', 'VOLUME', 'EXPOSE', 'STOPSIGNAL'])

/**
 * Runs all instructions of a Dockerfile.
 * @throws Error if a command fails or an instruction is not supported
 */
async function runDockerfile({ dockerfile, context, directory, isIncluded }: Build): Promise<BuiltImage> {
  const stages = new Map<string, Stage>()
  let stage: Stage | undefined
  for (const instruction of DockerfileParser.parse(dockerfile).getInstructions()) {
    const word = instruction.getKeyword()
    const content = instruction.getArgumentsContent() ?? ''
    if (word === 'FROM') {
      const name = / AS (\w+)$/.exec(content)?.[1] ?? 'final'
      stage = { root: join(directory, name), workdir: '/', environment: {}, command: [], healthCheck: '' }
      stages.set(name, stage)
    } else if (stage === undefined) throw new Error(`${word} before FROM`)
    else if (!withoutEffectHere.has(word)) await runInstruction(instruction, { stage, stages, context, isIncluded })
  }
  if (stage === undefined) throw new Error('no FROM')
  const last = stage
  return {
    pathOf: (path) => inStage(last, path),
    start(environment) {
      const [program = '', ...words] = last.command
      const cwd = inStage(last, last.workdir)
      return spawn(program, words, { cwd, env: environmentOf(last, environment), stdio: ['ignore', 'pipe', 'pipe'] })
    },
    healthOf: (environment) => shell(last, last.healthCheck, environment).status,
  }
}

interface Context extends Pick<Build, 'context' | 'isIncluded'> {
  readonly stage: Stage
  readonly stages: ReadonlyMap<string, Stage>
}

async function runInstruction(instruction: Instruction, { stage, stages, context, isIncluded }: Context) {
  const content = instruction.getArgumentsContent() ?? ''
  switch (instruction.getKeyword()) {
    case 'WORKDIR':
      stage.workdir = content
      await mkdir(inStage(stage, content), { recursive: true })
      return
    case 'ENV': {
      const [, name = '', value = ''] = /^(\w+)=(.*)$/.exec(content) ?? []
      stage.environment[name] = value.replace('$PATH', programEnvironment()['PATH'] ?? '')
      return
    }
    case 'COPY': {
      const copy = instruction as Copy
      const from = copy
        .getFlags()
        .find((flag) => flag.getName() === 'from')
        ?.getValue()
      const paths = copy.getArguments().map((argument) => argument.getValue())
      const target = inStage(stage, paths.at(-1) ?? '')
      for (const path of paths.slice(0, -1)) {
        const source = from ? inStage(stages.get(from), path) : join(context, path)
        // Like `COPY` of Docker: a file is copied into the target directory, and a directory is merged with the target
        // directory.
        const to = (await stat(source)).isFile() ? join(target, basename(path)) : target
        const filter = (file: string) => from != null || isIncluded(relative(context, file))
        await cp(source, to, { recursive: true, verbatimSymlinks: true, filter })
      }
      return
    }
    case 'RUN': {
      // npm uses only the packages in its cache, as in all tests.
      const { status, stdout, stderr } = shell(stage, content, { npm_config_offline: 'true' })
      if (status !== 0) throw new Error(`${content}\n${stdout}${stderr}`)
      return
    }
    case 'HEALTHCHECK':
      stage.healthCheck = content.replace(/^.*?CMD /s, '')
      return
    case 'CMD':
      stage.command = (instruction as JSONInstruction).getJSONStrings().map((word) => JSON.parse(word.getValue()))
      return
    default:
      throw new Error(`${instruction.getKeyword()} is not supported by this test`)
  }
}

/** Returns the path on this machine that represents a path of an image. */
function inStage(stage: Stage | undefined, path: string): string {
  if (stage === undefined) throw new Error('COPY from an unknown stage')
  const absolute = isAbsolute(path) ? path : resolve(stage.workdir, path)
  // The path `/app` becomes the directory of the stage.
  return join(stage.root, absolute.replace(/^\/app(?=\/|$)/, ''))
}

const environmentOf = (stage: Stage, environment: Readonly<Record<string, string>>) => {
  const values = Object.entries({ ...stage.environment, ...environment })
  return programEnvironment(
    Object.fromEntries(values.map(([name, value]) => [name, value.replaceAll('/app', stage.root)])),
  )
}

function shell(stage: Stage, command: string, environment: Readonly<Record<string, string>>) {
  // Includes the environment of the test, because it may contain npm settings that `npm ci` needs, such as a registry.
  const env = { ...process.env, ...environmentOf(stage, environment) }
  const cwd = inStage(stage, stage.workdir)
  return spawnSync('sh', ['-c', command.replaceAll('/app', stage.root)], { cwd, env, encoding: 'utf8' })
}
