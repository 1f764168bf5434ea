import { type CatalogueEntry, type JsonValue, localize } from '@plinth/config-schema'
import { didYouMean } from '@plinth/config-schema/reading'
import type { Command } from 'commander'
import type { ConfigExplanation, SourcedValue } from '../configuration/explanation.ts'
import { errorReason } from '../errors/coded-error.ts'
import { kernelError } from '../errors/kernel-errors.ts'
import { type PreparedProduct, prepareProduct } from '../product.ts'
import { commandRoles, startForCommand } from './partial-start.ts'
import type { CommandScope } from './scope.ts'

type Described = CatalogueEntry & Omit<ConfigExplanation, 'key' | 'plugin'>

export function addConfigCommands(program: Command, scope: CommandScope): void {
  const config = program.command('config').summary('show configuration keys and where their values come from')

  config
    .command('list')
    .summary('every key of every listed plugin with its value')
    .option('--group <group>', 'only keys of this group')
    .option('--plugin <id>', 'only keys of this plugin')
    .option('--modified', 'only keys whose value is not the default')
    .action(async (options: { group?: string; plugin?: string; modified?: boolean }) => {
      const keys = (await describeKeys(scope)).filter(
        (entry) =>
          (options.group === undefined || entry.group === options.group) &&
          (options.plugin === undefined || entry.plugin === options.plugin) &&
          (options.modified !== true || entry.effective.source !== 'default'),
      )
      const rows = keys.map(({ key, effective, plugin }) => {
        // The last column shows which plugin declares the default.
        const from = effective.source === 'default' ? 'default' : effective.place
        return [key, shown(effective), from, plugin]
      })
      scope.output.table(keys, [['KEY', 'VALUE', 'FROM', 'PLUGIN'], ...rows])
    })

  config
    .command('get')
    .summary('the value of one key; a sensitive one is masked')
    .argument('<key>')
    .action(async (key: string) => {
      const entry = await find(scope, key)
      scope.output.result({ key, ...entry.effective }, shown(entry.effective))
    })

  config
    .command('explain')
    .summary('everything about one key: meaning, rule, every source, what wins')
    .argument('<key>')
    .action(async (key: string) => {
      const entry = await find(scope, key)
      scope.output.result(entry, explanation(entry))
    })
}

async function describeKeys(scope: CommandScope): Promise<readonly Described[]> {
  const prepared = prepareProduct(scope.product(), { ...scope.options(), ...commandRoles })
  for (const { place, message } of prepared.problems) scope.output.progress(`${place}: ${message}`)
  const explanations = await explainAll(prepared, scope)
  return prepared.config.catalogue.flatMap((entry) => {
    const explained = explanations.get(entry.key)
    return explained === undefined ? [] : [{ ...entry, ...explained }]
  })
}

/**
 * Returns the explanation of each key. Sets up only the plugins that supply stored values, because a stored value may
 * keep another plugin from starting, and the operator then needs this command.
 */
async function explainAll(
  prepared: PreparedProduct,
  scope: CommandScope,
): Promise<ReadonlyMap<string, ConfigExplanation>> {
  const byKey = (list: readonly ConfigExplanation[]) => new Map(list.map((explained) => [explained.key, explained]))
  const suppliers = prepared.plan.plugins
    .filter(({ suppliesConfiguration }) => suppliesConfiguration)
    .map(({ id }) => id)
  if (suppliers.length === 0 || prepared.problems.length > 0) return byKey(prepared.config.list())
  const started = await startForCommand(scope, { needed: suppliers, setsUp: 'needed' }).catch((error: unknown) => {
    scope.output.progress(`Stored values could not be read, so they are missing here. ${errorReason(error)}`)
    return undefined
  })
  if (started === undefined) return byKey(prepared.config.list())
  const { running } = started
  const explanations = byKey(running.config.list())
  for (const { message, fix } of running.config.overridden()) scope.output.progress(`${message} ${fix}`)
  await running.stop('command ended').catch((error: unknown) => scope.output.progress(errorReason(error)))
  return explanations
}

async function find(scope: CommandScope, key: string): Promise<Described> {
  const keys = await describeKeys(scope)
  const entry = keys.find((candidate) => candidate.key === key)
  if (entry !== undefined) return entry
  const nearest = didYouMean(
    key,
    keys.map((candidate) => candidate.key),
  )
  throw kernelError('PLINTH_CONFIG_UNKNOWN_KEY', { name: key, nearest })
}

const shown = ({ value }: SourcedValue) => (value === undefined ? '(none)' : text(value))
const text = (value: JsonValue) => (typeof value === 'string' && value !== '' ? value : JSON.stringify(value))

function explanation(entry: Described): string {
  const { schema, effective } = entry
  const lines = [
    `${entry.key}  (plugin ${entry.plugin}, group ${entry.group})`,
    `  ${localize(entry.title, 'en')}`,
    ...(entry.description === undefined ? [] : [`  ${localize(entry.description, 'en')}`]),
    `  Rule:        ${JSON.stringify(schema)}`,
    `  Variable:    ${entry.env}`,
    `  Takes effect: ${entry.reload === 'live' ? 'immediately' : 'after a restart'}${entry.sensitive ? '; secret' : ''}`,
    ...(entry.deprecated === undefined
      ? []
      : [`  Deprecated since ${entry.deprecated.since}; use ${entry.deprecated.replacement ?? 'no replacement'}`]),
    `  Value:       ${shown(effective)}  from ${effective.place}`,
    '  Sources, weakest first:',
    ...entry.sources.map(({ source, place, value }) => `    ${source}: ${shown({ source, place, value })}  (${place})`),
  ]
  return lines.join('\n')
}
