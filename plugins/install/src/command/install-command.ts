import { type StdioOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { BusinessError, type CommandDeclaration, type CommandInvocation, errorReason, service } from '@plinth/kernel'
import type { DefaultsView, ExecuteView, RecordView } from '../contract.ts'
import { type Caller, commandCaller } from '../entry/caller.ts'
import type { InstallForm } from '../form/fields.ts'
import type { ClosedByState } from '../state/install-state.ts'
import { answerFields, answersFromEnvironment, mergeForms, parseAnswers, readAnswers } from './answers.ts'

interface Installer {
  readonly stepCount: number
  /** Returns the running configuration with secrets, because a user who can run this command can also read `.env`. */
  defaults(): DefaultsView
  /** Returns why an installation is not possible, or `undefined` if it is possible. */
  closedBecause(): Promise<ClosedByState | undefined>
  /** Returns `undefined` if the installer was locked in the meantime. */
  install(
    form: InstallForm,
    options: {
      readonly caller: Caller
      readonly signal: AbortSignal
      readonly onRecord: (record: RecordView) => void
    },
  ): Promise<ExecuteView | undefined>
}

export const installer = service<Installer>('install.installer', { from: '@plinth/install' })

type Command = CommandDeclaration<{ provides: readonly [typeof installer] }>

/** The command `plinth install`. It runs the same steps as the installation page. */
export const installCommand: Command = {
  name: 'install',
  summary: 'install the product without a browser',
  options: [
    {
      flags: '--answers <file>',
      description:
        'YAML or JSON file with the groups site, administrator, database, cache and storage; - for standard input',
    },
    ...answerFields.flatMap(({ path, option, variable }) =>
      option === undefined ? [] : [{ flags: option.flags, description: `${path}; also ${variable}` }],
    ),
  ],
  async run({ own }, { options, output, signal }) {
    const service = own(installer)
    const { answers } = options
    const closedBecause = await service.closedBecause()
    if (closedBecause !== undefined) return nothingToInstall(closedBecause, output)
    const given = typeof answers === 'string' ? await readAnswers(answers) : undefined
    const answered = given === undefined ? {} : parseAnswers(given)
    const form = completed(mergeForms(answered, answersFromEnvironment(process.env, options)), service.defaults())
    const count = service.stepCount
    let done = 0
    const onRecord = ({ stepCode, status, message }: RecordView) => {
      done++
      output.progress(`[${done}/${count}] ${stepCode}: ${status}. ${message}`)
    }
    const result = await service.install(form, { caller: commandCaller('en'), signal, onRecord })
    if (result === undefined) return nothingToInstall(await service.closedBecause(), output)
    if (result.restartRequired) return runAgain(output.progress, given?.isInput ? given.text : undefined)
    output.result(result, result.message)
    return result.passed ? 0 : 1
  },
}

/**
 * Fills missing answers with current values. Copies the password to its confirmation, because a command need not ask
 * twice.
 */
function completed(form: InstallForm, defaults: DefaultsView): InstallForm {
  const { url: _url, passwordSet: _set, fault: _fault, faultField: _field, ...database } = defaults.database
  const { passwordSet: _cacheSet, ...cache } = defaults.cache
  const site = {
    defaultLocale: defaults.site.defaultLocale,
    timeZone: defaults.site.timeZone,
    name: defaults.site.name,
  }
  const base: InstallForm = { site, cache, storage: defaults.storage }
  const password = form.administrator?.password
  const administrator = password === undefined ? {} : { administrator: { confirmPassword: password } }
  // If the type of the database changes, values of the current database do not apply.
  const isOther = form.database?.type !== undefined && form.database.type !== database.type
  return mergeForms(base, isOther ? {} : { database }, administrator, form)
}

/**
 * Continues in a new process that reads the new settings, because a running process cannot change its database.
 *
 * @param input content of standard input, if this process has already read it
 */
async function runAgain(progress: (text: string) => void, input: string | undefined): Promise<number> {
  progress('The new connection is written. Continuing in a new process.')
  const [, program = '', ...words] = process.argv
  try {
    const stdin = input === undefined ? 'inherit' : 'pipe'
    const stdio: StdioOptions = [stdin, 'inherit', 'inherit']
    const child = spawn(process.execPath, [...process.execArgv, program, ...words], { stdio })
    // Ignores the error of a process that exits before it has read its input.
    child.stdin?.on('error', () => undefined).end(input)
    const [code]: (number | null)[] = await once(child, 'exit')
    return code ?? 1
  } catch (error) {
    progress(errorReason(error))
    return 1
  }
}

/** Returns exit code 0 if the product is installed. Throws if the state is unknown (decision E9). */
function nothingToInstall(because: ClosedByState | undefined, output: CommandInvocation['output']): number {
  if (because === 'installed') {
    const message = 'The product is installed already. Nothing was changed.'
    output.result({ installed: true, changed: false, message }, message)
    return 0
  }
  if (because === 'state-lost') {
    throw new BusinessError(
      '503',
      'This machine was installed, but its database has no record of the installation. Nothing was changed. Run `plinth doctor` for the next steps.',
      { reason: 'install.state-lost' },
    )
  }
  throw new BusinessError(
    '503',
    'It is unknown whether the product is installed, because its database does not respond. Nothing was changed.',
    { reason: 'install.state-unreadable' },
  )
}
