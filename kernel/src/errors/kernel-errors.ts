import { fillText, type TextParams } from '../text/text.ts'
import { type ErrorCodeOf, errorReason, errorTable, isFileAccessError, PlinthError } from './coded-error.ts'

/** All errors of the kernel. */
export const kernelError = errorTable({
  PLINTH_PLAN_INVALID_PLUGIN: `{{reason}}
    Export the result of definePlugin({ id, version, kernel, ... }) and list it in the product file.`,
  PLINTH_PLAN_NOT_A_PLUGIN: `Entry {{entry}} of the plugin list {{found}}.
    List the result of definePlugin(), usually the default export of {{origin}}. Write await before a promise. If the import has no value, check its name and whether two files import each other.`,
  PLINTH_PLAN_INVALID_REFERENCE: `The value {{found}}.
    Import the reference by its exact name. service() and extensionPoint() create references from a lower-case id. If the import has no value, two files may import each other: move the reference into a separate file.`,
  PLINTH_PLAN_INVALID_DECLARATION: `{{path}} {{clause}}
    Correct the declaration. Example: {{example}}.`,
  PLINTH_PLAN_TEXT_IN_ONE_LANGUAGE: `{{count}} text(s) are in English only, among them {{names}}.
    Write both languages: { en: '...', 'zh-CN': '...' }. Until then, all users see the English text.`,
  PLINTH_PLAN_INVALID_VERSION: `{{reason}}
    Write {{example}} in the declaration of the plugin.`,
  PLINTH_PLAN_UNKNOWN_MEMBER: `The plugin declaration has the unknown property "{{member}}".{{nearest}}
    Correct the name, or remove the property. Unknown properties have no effect.`,
  PLINTH_PLAN_PLUGIN_AS_REFERENCE: `The value is the plugin "{{other}}" itself, not a reference to one of its services or extension points ({{offered}}).
    Import the reference by its name, for example import { {{name}} } from "{{origin}}". The default import is the plugin, for the product file.`,
  PLINTH_PLAN_NOT_IMPLEMENTED: `No loaded plugin implements {{member}}, which is declared by {{plugins}}.
    Add a plugin whose declaration lists it in \`implements\` to the product file, or remove the declarations.`,
  PLINTH_PLAN_MESSAGES_INCOMPLETE: `{{count}} text(s) are missing in {{locale}}, among them {{names}}.
    Add them. Until then, users see these texts in another language.`,
  PLINTH_PLAN_MESSAGES_PLACEHOLDERS: `{{count}} text(s) {{reason}}, among them {{names}}.
    Write placeholders with two opening and two closing braces, and use the same placeholders in both languages. Write quotation marks around braces that are part of the text: "{id}".`,
  PLINTH_PLAN_DUPLICATE_PLUGIN: `Plugin id "{{id}}" is listed more than once.
    List the plugin once, or change the id of one of the two plugins.`,
  PLINTH_PLAN_KERNEL_VERSION: `The plugin requires kernel {{range}}, but the kernel has version {{version}}.
    Install a version of the plugin that supports this kernel, or the kernel version that the plugin requires.`,
  PLINTH_PLAN_MISSING_SERVICE: `Requires service "{{service}}", which no loaded plugin provides.{{nearest}}
    Add {{provider}} to the product file, or remove "{{plugin}}".`,
  PLINTH_PLAN_SERVICE_NOT_IN_ROLE: `Requires service "{{service}}", but its provider "{{provider}}" is not loaded in the process roles {{roles}}.
    Limit the roles of "{{plugin}}" to those of "{{provider}}", or make the requirement optional().`,
  PLINTH_PLAN_DUPLICATE_SERVICE: `Provides service "{{name}}", which plugin "{{other}}" also provides.
    Remove one of the two plugins from the product file.`,
  PLINTH_PLAN_DEPENDENCY_CYCLE: `{{kind}} depend on each other in a cycle: {{path}}.
    Break the cycle: contribute to an extension point of the other plugin instead of calling it, or listen to an event.`,
  PLINTH_PLAN_DUPLICATE_EXTENSION_POINT: `Declares extension point "{{name}}", which plugin "{{other}}" also declares.
    Remove one of the two plugins from the product file.`,
  PLINTH_PLAN_UNKNOWN_EXTENSION_POINT: `Contributes to extension point "{{point}}", which no loaded plugin declares.{{nearest}}
    Add {{owner}} to the product file, or remove "{{plugin}}".`,
  PLINTH_PLAN_INVALID_KEY: `The declaration of key "{{key}}" is invalid: {{reason}}.
    Declare keys with the builders of \`key\`, for example key.duration({ title, default: "1m" }).`,
  PLINTH_PLAN_INVALID_DEFAULT: `The default of key "{{key}}" does not match the schema of the key: {{reason}}.
    Correct the default or the schema.`,
  PLINTH_PLAN_KEY_PREFIX: `Key "{{key}}" is not a lower-case dotted key that starts with "platform.".
    Name it "platform.<area>.<name>", with a-z, 0-9 and "-" in each part.`,
  PLINTH_PLAN_DUPLICATE_KEY: `Key "{{key}}" is already declared by plugin "{{owner}}".
    Rename the key, or read the value through a service of "{{owner}}". Only one plugin can declare a key.`,
  PLINTH_PLAN_DUPLICATE_ENVIRONMENT_NAME: `Keys "{{key}}" and "{{other}}" use the same environment variable {{env}}.
    Rename one key, or set a different variable name with \`env\`.`,
  PLINTH_PLAN_SECRET_DESTINATION: `Key "{{key}}" {{reason}}.
    List in \`destination\` the keys that decide where the secret is sent (host, endpoint, account); write \`destination: []\` for a secret that is sent to no configured address.`,
  PLINTH_PLAN_KEY_PERMISSION: `Key "{{key}}" needs the permission "{{permission}}", which neither its plugin nor a plugin that it requires declares.
    Declare the permission in \`permissions\`, correct its code, or use \`guardsPermission\` of @plinth/kernel.`,
  PLINTH_PLAN_DUPLICATE_DECLARATION: `The {{kind}} "{{name}}" is also declared by "{{other}}".
    Rename one of the two.`,
  PLINTH_PLAN_GROUP_TITLED_TWICE: `The key group "{{group}}" has the title "{{title}}" here and "{{otherTitle}}" in "{{other}}".
    Use the same title in both plugins, or declare it in one of them only.`,
  PLINTH_PLAN_TASK_KEY: `Scheduled task "{{task}}" reads its {{member}} from key "{{key}}", which the plugin does not declare.
    Declare the key in \`config\`, or write a fixed value. A fixedDelay is a number of milliseconds.`,
  PLINTH_PLAN_TASK_KEY_TYPE: `Scheduled task "{{task}}" reads its {{member}} from key "{{key}}", which is not declared with {{builder}}.
    Declare the key with {{builder}}({ title, default }).`,
  PLINTH_PLAN_TABLES_IN_ROLES: `The plugin declares tables, but is only loaded in the process roles {{roles}}.
    Load the plugin in every role and check \`context.roles\` in setup. Every process must know all tables, because any process can run the migration.`,
  PLINTH_CONFIG_UNKNOWN_KEY: `"{{name}}" is not a key of any loaded plugin.{{nearest}}
    Correct the name, delete the entry, or load the plugin that declares the key. \`plinth config list\` shows all keys.`,
  PLINTH_CONFIG_INVALID_VALUE: `The value of "{{key}}" {{reason}}.
    Correct the value. \`plinth config explain {{key}}\` shows the rule and all sources.`,
  PLINTH_CONFIG_REQUIRED: `Key "{{key}}" has no value and no default.
    Set it in the product file, in .env as {{env}}=..., or in the environment.`,
  PLINTH_CONFIG_DEPRECATED: `Key "{{key}}" is deprecated since {{since}}.
    Use {{replacement}}.`,
  PLINTH_CONFIG_INSECURE: `The value of "{{key}}" is not safe in production: {{reason}}
    Change the value. \`plinth config explain {{key}}\` shows all sources.`,
  PLINTH_CONFIG_OVERRIDDEN: `{{variable}} has no effect: the {{row}} overrides it.
    Remove the variable. To use it instead, remove the stored value: \`plinth config reset {{key}}\`.`,
  PLINTH_CONFIG_SOURCE: `The configuration source cannot be read: {{reason}}.
    Correct the path or the line of the file. The operator guide describes the syntax of a line.`,
  PLINTH_CONFIG_SETTINGS_FILE: `The product reads its settings from {{used}}. It {{ignored}}.
    Keep all settings in one file. To use another file, set {{variable}} in the environment.`,
  PLINTH_CONFIG_TASK_NAME: `The name "{{name}}" is already used by another scheduled task: {{other}}.
    Choose a unique name. Pausing, runs and leases of a task are stored by its name.`,
  PLINTH_CONFIG_UNDECLARED: `Plugin "{{plugin}}" read key "{{key}}", which it does not declare.
    Declare the key in \`config\` of the plugin, or use a service of the plugin that declares it.`,
  PLINTH_NODE_VERSION: `Plinth requires Node.js {{needed}} or later, but this process runs on Node.js {{found}}.
    Install Node.js {{needed}} or later, and start the product with it.`,
  PLINTH_PRODUCT_NOT_FOUND: `No product file at {{path}}.
    Pass its path with --product, or run the command in a directory with a plinth.config.ts.`,
  PLINTH_PRODUCT_INVALID: `The product file {{path}} cannot be used: {{reason}}.
    Correct the file. Its default export must be defineProduct({ name, plugins: [...] }).`,
  PLINTH_PRODUCT_IMPORT: `{{file}} cannot be loaded: {{reason}}.
    Correct {{wrong}}, or install the packages that it imports.`,
  PLINTH_DEV_MISSING: `The command "{{command}}" is in @plinth/dev, which is not installed.
    Install it as a development dependency of the product, with npm install --save-dev @plinth/dev.`,
  PLINTH_LOCK_MISSING: `There is no lock file {{file}}.
    Run "plinth plugins lock", read the file, and commit it.`,
  PLINTH_LOCK_INVALID: `The lock file {{file}} cannot be used: {{reason}}.
    Restore it from version control, or run "plinth plugins lock" to write a new one.`,
  PLINTH_LOCK_UNWRITABLE: `The lock file {{file}} cannot be written: {{reason}}.
    Check the permissions of the folder.`,
  PLINTH_PLUGIN_REQUIRED: `Plugin "{{id}}" cannot be removed, because plugin "{{plugin}}" needs it: {{reason}}
    Remove "{{plugin}}" first, or add another plugin that provides the same.`,
  PLINTH_PLUGIN_IN_USE: `The data of plugin "{{id}}" cannot be deleted now: {{reason}}. Nothing was deleted.
    Stop all instances of the product, and run the command again.`,
  PLINTH_PLUGIN_DATA_REMAINS: `Data of plugin "{{id}}" is still stored: {{names}}.
    Stop all instances of the product, and run the command again.`,
  PLINTH_START_REFUSED: `The product cannot start: {{count}} problem(s).
    Correct all problems listed above. Nothing was started.`,
  PLINTH_START_FAILED: `Plugin "{{plugin}}" failed in {{phase}}: {{reason}}.{{stored}}
    Correct the cause and start again. All plugins that had already started were stopped.`,
  PLINTH_DEADLINE_PASSED: `Plugin "{{plugin}}" did not finish {{phase}} within {{ms}} ms.
    Find out what the plugin waits for, or raise platform.kernel.{{deadline}}-deadline or the deadline in the declaration of the plugin.`,
  PLINTH_START_CANCELLED: `The start was cancelled: {{reason}}.
    Start again. All plugins that had already started were stopped.`,
  PLINTH_SERVICE_UNDECLARED: `Plugin "{{plugin}}" called provide() or own() for service "{{service}}", which it does not declare.
    Add the service to \`provides\`.`,
  PLINTH_SERVICE_NOT_PROVIDED: `Plugin "{{plugin}}" declares service "{{service}}" but did not provide it during setup.
    Call context.provide() in setup, or remove the service from \`provides\`.`,
  PLINTH_SERVICE_PROVIDED_TWICE: `Plugin "{{plugin}}" provided service "{{service}}" twice.
    Call context.provide() once for each service.`,
  PLINTH_SERVICE_UNKNOWN: `No loaded plugin provides service "{{service}}".
    Add {{provider}} to the product file.`,
  PLINTH_CONTRIBUTION_UNDECLARED: `Plugin "{{plugin}}" used extension point "{{point}}" without declaring it.
    Add the extension point to \`contributes\` to contribute to it, or to \`extensionPoints\` to read its contributions.`,
  PLINTH_CONTRIBUTION_DUPLICATE: `Plugin "{{plugin}}" contributed "{{name}}" to "{{point}}", but plugin "{{other}}" already uses that name.
    Use another name, or remove one of the two plugins.`,
  PLINTH_CONTRIBUTION_INVALID: `Plugin "{{plugin}}" contributed "{{name}}" to extension point "{{point}}" with {{count}} error(s): {{problems}}
    Correct the contribution. The contract of the extension point is in {{origin}}.`,
  PLINTH_SETUP_RESULT: `Plugin "{{plugin}}" returned {{found}} from setup, but the result of setup is not used.
    Register functions with the context instead: context.onStop(() => pool.end()).`,
  PLINTH_CONTEXT_ARGUMENT: `Plugin "{{plugin}}" called {{member}}() in setup with {{found}} instead of {{expected}}.
    Pass {{example}}.`,
  PLINTH_NOT_AN_ERROR: `The code threw {{found}} instead of an Error, so the line is unknown. The plugin is declared in {{file}}.
    Throw new Error(...), which records the line, and reject promises with an Error.`,
  PLINTH_UNHANDLED_ERROR: `An error was not handled: {{reason}}.
    Handle it where it occurs: await every promise or catch its error, and catch errors in timers and event listeners.`,
  PLINTH_CONTEXT_CLOSED: `Plugin "{{plugin}}" called {{member}}() after its setup had ended.
    Call it before setup() returns, and await all work that setup() starts.`,
  PLINTH_PARTS_CIRCLE: `Dependencies form a cycle while they are created: {{path}}.
    Let one of them read the other at first use instead of when it is created, or move the code that both need into a third class.`,
  PLINTH_PART_FAILED: `{{path}} could not be created: {{reason}}.
    Correct the cause. Each name in the path was created for the name before it.`,
  PLINTH_STOP_FAILED: `The product stopped with {{count}} error(s).
    Correct the hooks listed above. All other resources were released.`,
  PLINTH_RESTART_LOOP: `The product requested a restart {{count}} times within {{seconds}} seconds and is not started again.
    Find the reason for the restarts in the log, correct it, and start the product again.`,
  PLINTH_CRASH_LOOP: `The product crashed {{count}} times within {{minutes}} minutes and is not started again.
    Correct the errors in the log lines "crashed", and start the product again.`,
  PLINTH_PROCESS_ENDED: `The process was ended{{by}} with exit code {{exitCode}}, although no stop was requested.
    Remove the call of process.exit() and throw an error instead. To restart the product, a plugin calls requestRestart().`,
  PLINTH_CLI_USAGE: `{{reason}}
    Run \`{{command}} --help\`.`,
  PLINTH_COMMAND_REFUSED: `{{reason}}
    Correct the arguments, or the state that the message describes.`,
  PLINTH_FILE_ACCESS: `{{user}} may not use {{path}}: {{reason}}.
    Give this user access to the path, or set the configuration key of this path to a directory that the user may write.`,
  PLINTH_UNEXPECTED: `{{reason}}
    Correct the cause, or report the error with its stack to the author of the code that the stack shows.`,
})

export type KernelErrorCode = ErrorCodeOf<typeof kernelError>

/** Returns the error for a path that the user of the process may not use, or `undefined` if another error occurred. */
export function fileAccessError(error: unknown): PlinthError | undefined {
  if (!isFileAccessError(error)) return undefined
  const uid = process.getuid?.()
  const { path } = Object(error)
  const user = uid === undefined ? 'The user of the process' : `The user of the process (uid ${uid})`
  return kernelError('PLINTH_FILE_ACCESS', { user, path, reason: errorReason(error) }, error)
}

/** One problem of a product. The planner and the configuration report all problems at once. */
export interface Problem {
  readonly code: KernelErrorCode
  /** Plugin with the problem, if known. */
  readonly plugin?: string
  /** Where the problem is: a property of the declaration, file and line, an environment variable, or an argument. */
  readonly place: string
  readonly message: string
  readonly fix: string
}

function fill(code: KernelErrorCode, details: TextParams): { readonly message: string; readonly fix: string } {
  const { text, fix } = kernelError.table[code]
  return { message: fillText(text, details), fix: fillText(fix, details) }
}

/**
 * Creates a problem from a code of the table.
 *
 * @param details values for the placeholders of the text; `plugin` is added
 */
export function problem(code: KernelErrorCode, place: string, details: TextParams, plugin?: string): Problem {
  return plugin === undefined
    ? { code, place, ...fill(code, details) }
    : { code, plugin, place, ...fill(code, { plugin, ...details }) }
}

/** The plan or the configuration of a product has problems, so nothing was started. */
export class StartRejectedError extends PlinthError {
  override readonly name = 'StartRejectedError'
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    const { message, fix } = fill('PLINTH_START_REFUSED', { count: problems.length })
    super('PLINTH_START_REFUSED', [message, ...problems.map(describeProblem)].join('\n'), fix)
    this.problems = problems
  }
}

export function describeProblem({ code, plugin, place, message, fix }: Problem): string {
  return `  ${code}${plugin === undefined ? '' : ` in plugin "${plugin}"`} at ${place}\n    ${message}\n    Fix: ${fix}`
}

/** Hooks failed while the product stopped. All other resources were released. */
export class StopFailedError extends PlinthError {
  override readonly name = 'StopFailedError'
  readonly errors: readonly unknown[]

  constructor(failures: readonly { readonly plugin: string; readonly phase: string; readonly error: unknown }[]) {
    const list = failures.map(({ plugin, phase, error }) => `  ${plugin} in ${phase}: ${errorReason(error)}`)
    const { message, fix } = fill('PLINTH_STOP_FAILED', { count: failures.length })
    super('PLINTH_STOP_FAILED', [message, ...list].join('\n'), fix)
    this.errors = failures.map(({ error }) => error)
  }
}
