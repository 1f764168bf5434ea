/** Runs the instructions of a Dockerfile one by one, in directories of this machine instead of images. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, stat } from 'node:fs/promises'
import { basename, isAbsolute, join, relative, resolve } from 'node:path'
import { default as dockerignore } from '@balena/dockerignore'
import { freePort, programEnvironment, watchProcess } from '@plinth/dev/testing'
import { omitUndefined } from '@plinth/kernel'
import { type Copy, DockerfileParser, type Instruction, type JSONInstruction } from 'dockerfile-ast'
import type { Test } from 'tap'
import { deployFile } from './deploy-files.ts'

/**
 * Builds an image of a product with `deploy/Dockerfile`.
 *
 * @param context directory of the product
 * @param directory directory that contains the context and the archives of its packages
 * @param installPackages replaces `npm ci` in a directory
 */
export async function buildImage(
  context: string,
  directory: string,
  installPackages?: Build['installPackages'],
): Promise<BuiltImage> {
  const isIncluded = isInContext(deployFile('deploy/Dockerfile.dockerignore'))
  return runDockerfile({
    dockerfile: deployFile('deploy/Dockerfile'),
    context,
    directory,
    isIncluded,
    ...omitUndefined<Pick<Build, 'installPackages'>>({ installPackages }),
  })
}

/**
 * Returns a function that tells whether the engine sends a file to a build. Paths are relative to the build context,
 * with `/`.
 *
 * @param rules content of a `.dockerignore` file
 */
export function isInContext(rules: string): (path: string) => boolean {
  const ignored = dockerignore.default({ ignorecase: false }).add(rules)
  return (path) => path === '' || !ignored.ignores(path)
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
  /** Values of `ENV`, with the paths of the image. */
  readonly environment: Readonly<Record<string, string>>
  readonly command: readonly string[]
  /** Numeric user of the last `USER`. */
  readonly user: number
  /** Starts the command of the image. */
  start(environment: Readonly<Record<string, string>>): ChildProcess
  /** Runs the health check of the image and returns its exit code. */
  healthOf(environment: Readonly<Record<string, string>>): number | null
}

interface Stage {
  readonly root: string
  workdir: string
  readonly environment: Record<string, string>
  user: number
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
  /** Replaces `npm ci` in a directory. Default: npm runs, with the packages in its cache. */
  readonly installPackages?: (directory: string) => void
  /** Returns whether `.dockerignore` allows the build to copy a path of the context. */
  readonly isIncluded: (path: string) => boolean
}

/**
 * Instructions that only change how a container engine runs the image, and arguments of the build, which are empty. They have
 * no effect in this test.
 */
const withoutEffectHere = new Set(['ARG', 'VOLUME', 'EXPOSE', 'STOPSIGNAL'])

/**
 * Runs all instructions of a Dockerfile.
 * @throws Error if a command fails or an instruction is not supported
 */
async function runDockerfile({
  dockerfile,
  context,
  directory,
  isIncluded,
  installPackages,
}: Build): Promise<BuiltImage> {
  const stages = new Map<string, Stage>()
  let stage: Stage | undefined
  for (const instruction of DockerfileParser.parse(dockerfile).getInstructions()) {
    const word = instruction.getKeyword()
    const content = instruction.getArgumentsContent() ?? ''
    if (word === 'FROM') {
      const name = / AS (\w+)$/.exec(content)?.[1] ?? 'final'
      stage = { root: join(directory, name), workdir: '/', environment: {}, user: 0, command: [], healthCheck: '' }
      stages.set(name, stage)
    } else if (stage === undefined) throw new Error(`${word} before FROM`)
    else if (!withoutEffectHere.has(word))
      await runInstruction(instruction, {
        stage,
        stages,
        ...omitUndefined<Pick<Context, 'context' | 'isIncluded' | 'installPackages'>>({
          context,
          isIncluded,
          installPackages,
        }),
      })
  }
  if (stage === undefined) throw new Error('no FROM')
  const last = stage
  return {
    pathOf: (path) => inStage(last, path),
    environment: last.environment,
    command: last.command,
    user: last.user,
    start(environment) {
      const [program = '', ...words] = last.command
      const cwd = inStage(last, last.workdir)
      return spawn(program, words, { cwd, env: environmentOf(last, environment), stdio: ['ignore', 'pipe', 'pipe'] })
    },
    healthOf: (environment) => shell(last, last.healthCheck, environment).status,
  }
}

interface Context extends Pick<Build, 'context' | 'isIncluded' | 'installPackages'> {
  readonly stage: Stage
  readonly stages: ReadonlyMap<string, Stage>
}

async function runInstruction(
  instruction: Instruction,
  { stage, stages, context, isIncluded, installPackages }: Context,
) {
  const content = instruction.getArgumentsContent() ?? ''
  switch (instruction.getKeyword()) {
    case 'WORKDIR':
      stage.workdir = content
      await mkdir(inStage(stage, content), { recursive: true })
      return
    case 'USER':
      stage.user = Number(content.split(':')[0])
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
      if (installPackages !== undefined && content.includes('npm ci'))
        return installPackages(inStage(stage, stage.workdir))
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
  const env = { ...process.env, ...environmentOf(stage, environment), NODE_COMPILE_CACHE: undefined }
  const cwd = inStage(stage, stage.workdir)
  // Only root can give files to another user. The instructions then run as the user of the test.
  const chown = 'chown() { [ "$(id -u)" != 0 ] || command chown "$@"; }; '
  const owner = process.getuid?.() === 0 ? { uid: stage.user, gid: stage.user } : {}
  return spawnSync('sh', ['-c', chown + command.replaceAll('/app', stage.root)], {
    ...owner,
    cwd,
    env,
    encoding: 'utf8',
  })
}
