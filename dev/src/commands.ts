/**
 * The commands for development. `plinth` finds this module when the package is installed.
 *
 * @module
 */

import type { DevelopmentCommands } from '@plinth/kernel/program'
import { addCompletionCommand } from './completion-command.ts'
import { addCreateCommands } from './create/create-commands.ts'
import { draftCommand } from './draft/draft-command.ts'
import { addManifestCommands } from './manifest-commands.ts'
import { openApiCommand } from './openapi/openapi-command.ts'
import { addVerifyCommand } from './verify/verify-command.ts'

export const addCommands: DevelopmentCommands['addCommands'] = (program, scope, surroundings) => {
  const plugins = program.commands.find((command) => command.name() === 'plugins') ?? program.command('plugins')
  addManifestCommands(plugins, scope)
  addVerifyCommand(plugins, scope, surroundings)
  addCreateCommands(program, scope, surroundings)
  addCompletionCommand(program, scope)
}

export const pluginCommands: DevelopmentCommands['pluginCommands'] = {
  database: [draftCommand],
  http: [openApiCommand],
}
