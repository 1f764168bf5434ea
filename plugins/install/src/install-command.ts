import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { BusinessError, type CommandDeclaration, reasonOf } from '@plinth/kernel'
import { answerFields, answersOf, mergeForms, readAnswers } from './answers.ts'
import { commandCaller } from './caller.ts'
import type { keys } from './config.ts'
import type { DefaultsView, InstallForm, RecordView } from './contract.ts'
import { installer } from './installer.ts'
import type { requires } from './requires.ts'

type Command = CommandDeclaration<typeof requires, typeof keys>

/** `plinth install`: the same as the page, through the same service, for whoever may start programs on the server. */
export const installCommand: Command = {
  name: 'install',
  summary: 'Install the product without a browser',
  options: [
    {
      flags: '--answers <file>',
      description: 'YAML or JSON file with the groups site, administrator, database, cache and storage',
    },
    ...answerFields.flatMap(({ name, option, variable }) =>
      option === undefined ? [] : [{ flags: option.flags, description: `${name}; also ${variable}` }],
    ),
  ],
  async run({ own }, { options, output, signal }) {
    const service = own(installer)
    const { answers } = options
    const form = completed(
      mergeForms(
        typeof answers === 'string' ? await readAnswers(resolve(answers)) : {},
        answersOf(process.env, options),
      ),
      service.defaults(),
    )
    const count = service.stepCount
    let done = 0
    const onRecord = ({ stepCode, status, message }: RecordView) => {
      done++
      output.progress(`[${done}/${count}] ${stepCode}: ${status}. ${message}`)
    }
    const result = await service.install(form, { caller: commandCaller('en'), signal, onRecord })
    if (result === undefined) throw closed()
    if (result.restartRequired) return runAgain(output.progress)
    output.result(result, result.message)
    return result.passed ? 0 : 1
  },
}

/** What is not answered stays as it is; the password is not asked for twice. */
function completed(form: InstallForm, defaults: DefaultsView): InstallForm {
  const { url: _url, passwordSet: _set, ...database } = defaults.database
  const { passwordSet: _cacheSet, ...cache } = defaults.cache
  const site = {
    defaultLocale: defaults.site.defaultLocale,
    timeZone: defaults.site.timeZone,
    name: defaults.site.name,
  }
  const base: InstallForm = { site, cache, storage: defaults.storage }
  const password = form.administrator?.password
  const administrator = password === undefined ? {} : { administrator: { confirmPassword: password } }
  // Of another kind of database nothing of the running one holds.
  const isOther = form.database?.type !== undefined && form.database.type !== database.type
  return mergeForms(base, isOther ? {} : { database }, administrator, form)
}

/** A process that runs never changes its database: the rest is done by a fresh one, which reads the new settings. */
async function runAgain(progress: (text: string) => void): Promise<number> {
  progress('The new connection is written. Going on with it in a new process.')
  const [, program = '', ...words] = process.argv
  try {
    const child = spawn(process.execPath, [...process.execArgv, program, ...words], { stdio: 'inherit' })
    const [code] = (await once(child, 'exit')) as [number | null]
    return code ?? 1
  } catch (error) {
    progress(reasonOf(error))
    return 1
  }
}

const closed = () =>
  new BusinessError('409', 'The product is installed, or its state cannot be read. Nothing was changed.', {
    reason: 'install.closed',
  })
