import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { isPlugin } from '@plinth/kernel/host'
import { addPluginToSource, type CommandScope, kernelError, type ProgramEnvironment } from '@plinth/kernel/program'
import { type Command, Option } from 'commander'
import { createError } from './errors.ts'
import { convertToJavaScript, fillTemplate, templateFiles, writeFolder } from './templates.ts'

/** The folders below `templates` that a user can choose, with a description. */
const kinds = {
  plugin: 'a plugin with a table, its operations and a page',
  channel: 'a notification channel',
  provider: 'a provider of the channel "webhook"',
  store: 'a rate limit store',
  'install-task': 'a step of the installation',
  page: 'a plugin with routes and pages written by hand',
} as const

const presets = ['standard', 'minimal'] as const
type Preset = (typeof presets)[number]

/** Maximum characters of a name. Names become parts of table names, whose length databases limit. */
const maxNameLength = 30
const namePattern = /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/

interface ProductOptions {
  readonly name?: string
  readonly preset?: Preset
  readonly javascript?: true
}

export function addCreateCommands(
  program: Command,
  scope: CommandScope,
  { directory, ask }: Pick<ProgramEnvironment, 'directory' | 'ask'>,
): void {
  const create = program.command('create').summary('write a new product, or a plugin with its test')

  create
    .command('product')
    .summary('a product in a new folder; `npm create plinth` does the same')
    .argument('[folder]', 'new or empty; asked for in a terminal if it is missing')
    .option('--name <name>', 'name of the product (default: name of the folder)')
    .addOption(
      new Option(
        '--preset <preset>',
        'standard: with configuration centre, installer and back office; minimal: accounts and one channel (default: standard)',
      ).choices(presets),
    )
    .option('--javascript', 'JavaScript instead of TypeScript')
    .action(async (argument: string | undefined, options: ProductOptions) => {
      const path = await nameOr(argument, 'Folder of the product: ', ask, 'plinth create product', 'folder')
      const preset = options.preset ?? (argument === undefined ? await askPreset(ask) : 'standard')
      const folder = resolve(directory, path)
      const name = checkedName(
        options.name ??
          basename(folder)
            .toLowerCase()
            .replaceAll(/[\s_.]+/g, '-'),
      )
      const files = templateFiles(['product', 'deploy', `presets/${preset}`], name)
      await writeFolder(folder, options.javascript === true ? convertToJavaScript(files) : files)
      const shown = relative(directory, folder) || '.'
      const next = [...(shown === '.' ? [] : [`cd ${shown}`]), 'npm install', 'npm run dev']
      scope.output.result(
        { folder, name, preset, files: [...files.keys()], next },
        [`Created the product "${name}" in ${shown}. Next:`, ...next.map((line) => `  ${line}`)].join('\n'),
      )
    })

  create
    .command('deploy')
    .summary('files to run the product in production: image, compose, systemd, Kubernetes, proxies, monitoring')
    .option('--name <name>', 'name of services and hosts in the files (default: name of the product)')
    .action(async (options: { readonly name?: string }) => {
      const product = scope.product()
      const name = checkedName(options.name ?? product.name)
      const folder = join(product.root, 'deploy')
      const files = [...templateFiles(['deploy'], name)].map(
        ([path, text]) => [path.replace(/^deploy\//, ''), text] as const,
      )
      await writeFolder(folder, new Map(files))
      const shown = posix(relative(directory, folder))
      const next = [`${shown}/README.md lists the files and their guide`]
      scope.output.result(
        { folder, name, files: files.map(([path]) => path), next },
        `Created ${shown}. Next: ${next[0]}.`,
      )
    })

  for (const [kind, summary] of Object.entries(kinds)) {
    create
      .command(kind)
      .summary(summary)
      .argument('[name]', 'lower-case words joined by "-"; asked for in a terminal if it is missing')
      .option('--folder <folder>', 'new or empty folder (default: plugins/<name> next to the product file)')
      .action(async (argument: string | undefined, options: { readonly folder?: string }) => {
        const name = checkedName(await nameOr(argument, 'Name: ', ask, `plinth create ${kind}`, 'name'))
        const product = loadedProduct(scope)
        if (product?.plugins.some((plugin) => isPlugin(plugin) && plugin.id === name)) {
          throw createError('PLINTH_CREATE_NAME', { name, reason: 'the product has a plugin with this id' })
        }
        const folder =
          options.folder === undefined
            ? join(product?.root ?? directory, 'plugins', name)
            : resolve(directory, options.folder)
        await writeFolder(folder, templateFiles(['package', kind], name))
        const file = product?.file ?? join(directory, 'plinth.config.ts')
        const path = `./${posix(relative(dirname(file), join(folder, 'src', 'plugin.ts')))}`.replace(/^\.\/\.\./, '..')
        const identifier = fillTemplate('sampleNamePlugin', name)
        const isAdded = product?.file !== undefined && (await addToProduct(product.file, identifier, path))
        const line = `import ${identifier} from '${path}'`
        const shown = posix(relative(directory, folder))
        const next = [
          ...(isAdded ? [] : [`Add to ${posix(relative(directory, file))}: ${line}`, `Add to plugins: ${identifier}`]),
          `node --test ${shown}/test/plugin.test.ts`,
        ]
        const added = isAdded ? ` and added it to ${posix(relative(directory, file))}` : ''
        scope.output.result(
          { kind, name, folder, added: isAdded, import: line, next },
          [`Created ${shown}${added}. Next:`, ...next.map((line) => `  ${line}`)].join('\n'),
        )
      })
  }
}

const posix = (path: string) => path.replaceAll('\\', '/')

/**
 * Returns the product of this directory. Returns `undefined` if it cannot be loaded, because a plugin can be created
 * anyway.
 */
function loadedProduct(scope: CommandScope) {
  try {
    return scope.product()
  } catch {
    return undefined
  }
}

/**
 * Adds a plugin to a product file.
 *
 * @returns false if the list of plugins is written in an unusual way, so that a developer has to edit the file
 */
async function addToProduct(file: string, identifier: string, path: string): Promise<boolean> {
  if (!existsSync(file)) return false
  const changed = addPluginToSource(await readFile(file, 'utf8'), identifier, path)
  if (changed !== undefined) await writeFile(file, changed)
  return changed !== undefined
}

async function nameOr(
  argument: string | undefined,
  question: string,
  ask: ProgramEnvironment['ask'],
  command: string,
  missing: string,
): Promise<string> {
  const name = argument ?? (await ask?.(question))?.trim() ?? ''
  if (name === '') throw kernelError('PLINTH_CLI_USAGE', { reason: `The ${missing} is missing.`, command })
  return name
}

async function askPreset(ask: ProgramEnvironment['ask']): Promise<Preset> {
  const text = (await ask?.(`Preset (${presets.join(', ')}) [${presets[0]}]: `))?.trim() ?? ''
  const preset = text === '' ? presets[0] : presets.find((one) => one === text)
  if (preset !== undefined) return preset
  const reason = `"${text}" is not a preset: ${presets.join(', ')}.`
  throw kernelError('PLINTH_CLI_USAGE', { reason, command: 'plinth create product' })
}

function checkedName(name: string): string {
  if (!namePattern.test(name)) throw createError('PLINTH_CREATE_NAME', { name, reason: 'it is not kebab-case' })
  if (name.length <= maxNameLength) return name
  throw createError('PLINTH_CREATE_NAME', { name, reason: `it has more than ${maxNameLength} characters` })
}
