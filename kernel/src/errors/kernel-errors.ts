import { fillText, type TextParams } from '../text/text.ts'
import { type ErrorCodeOf, errorTable, PlinthError, reasonOf } from './coded-error.ts'

/** All errors of the kernel. */
export const kernelError = errorTable({
  PLINTH_PLAN_INVALID_PLUGIN: `{{reason}}
    Export the result of definePlugin({ id, version, kernel, ... }) and list it in the product file.`,
  PLINTH_PLAN_NOT_A_PLUGIN: `Entry {{entry}} of the plugin list {{found}}.
    List what definePlugin() returned, usually the default export of {{origin}}; write await before a promise. If an import has no value, check its name and whether two files import each other.`,
  PLINTH_PLAN_INVALID_REFERENCE: `It {{found}}.
    Import the reference by its exact name; service() and extensionPoint() make one from a lower-case id. If the import has no value, two files may import each other: move the reference into a file of its own.`,
  PLINTH_PLAN_INVALID_DECLARATION: `{{path}} {{clause}}
    Correct it. Example: {{example}}.`,
  PLINTH_PLAN_TEXT_IN_ONE_LANGUAGE: `{{count}} text(s) are in English only, among them {{names}}.
    Write both languages: { en: '...', 'zh-CN': '...' }. Until then, all users see the English text.`,
  PLINTH_PLAN_INVALID_VERSION: `{{reason}}
    Write {{example}} in the declaration of the plugin.`,
  PLINTH_PLAN_UNKNOWN_MEMBER: `Declares "{{member}}", which is no member of a plugin declaration.{{nearest}}
    Correct the name, or remove the member: nothing would read it.`,
  PLINTH_PLAN_PLUGIN_AS_REFERENCE: `It is the plugin "{{other}}" itself, not a reference to what it offers ({{offered}}).
    Import the reference by its name, such as import { {{name}} } from "{{origin}}"; the default import is the plugin, for the product file.`,
  PLINTH_PLAN_NOT_IMPLEMENTED: `Declared by {{plugins}}, but no loaded plugin implements {{member}}.
    Add the plugin that does to the product file (its declaration says so in \`implements\`), or go without what they declare.`,
  PLINTH_PLAN_MESSAGES_INCOMPLETE: `{{count}} text(s) are missing in {{locale}}, among them {{names}}.
    Write them; until then people read another language there.`,
  PLINTH_PLAN_DUPLICATE_PLUGIN: `Plugin id "{{id}}" is listed more than once.
    List it once, or give one of the two plugins another id.`,
  PLINTH_PLAN_KERNEL_VERSION: `Needs kernel {{range}}, this is {{version}}.
    Install a version of the plugin that fits the kernel, or the kernel that the plugin needs.`,
  PLINTH_PLAN_MISSING_SERVICE: `Requires service "{{service}}", which no loaded plugin provides.{{nearest}}
    Add {{provider}} to the product file, or remove "{{plugin}}".`,
  PLINTH_PLAN_SERVICE_NOT_IN_ROLE: `Requires service "{{service}}"; its provider "{{provider}}" does not load in the roles {{roles}}.
    Limit the roles of "{{plugin}}" to those of "{{provider}}", or make the requirement optional().`,
  PLINTH_PLAN_DUPLICATE_SERVICE: `Provides service "{{name}}", which "{{other}}" provides too.
    Remove one of the two plugins from the product file.`,
  PLINTH_PLAN_DEPENDENCY_CYCLE: `{{kind}} wait for each other: {{path}}.
    Break the circle: contribute to an extension point of the other plugin instead of calling it, or listen to an event.`,
  PLINTH_PLAN_DUPLICATE_EXTENSION_POINT: `Owns extension point "{{name}}", which "{{other}}" owns too.
    Remove one of the two plugins from the product file.`,
  PLINTH_PLAN_UNKNOWN_EXTENSION_POINT: `Contributes to extension point "{{point}}", which no loaded plugin owns.{{nearest}}
    Add {{owner}} to the product file, or remove "{{plugin}}".`,
  PLINTH_PLAN_INVALID_KEY: `Key "{{key}}" is declared wrongly: {{reason}}.
    Declare keys with the builders of \`key\`, for example key.duration({ title, default: "1m" }).`,
  PLINTH_PLAN_INVALID_DEFAULT: `Default of key "{{key}}" breaks its own rule: {{reason}}.
    Correct the default or the rule.`,
  PLINTH_PLAN_KEY_PREFIX: `Key "{{key}}" is not a lower-case dotted key that starts with "platform.".
    Name it "platform.<area>.<name>", with a-z, 0-9 and "-" in each part.`,
  PLINTH_PLAN_DUPLICATE_KEY: `Key "{{key}}" belongs to plugin "{{owner}}".
    A key has one owner: rename it, or read the value through a service of "{{owner}}".`,
  PLINTH_PLAN_DUPLICATE_ENVIRONMENT_NAME: `Keys "{{key}}" and "{{other}}" share the environment variable {{env}}.
    Rename one key, or give it a variable of its own with \`env\`.`,
  PLINTH_PLAN_SECRET_DESTINATION: `Key "{{key}}" {{reason}}.
    List in \`destination\` the keys that decide where the secret is sent (host, endpoint, account); write \`destination: []\` for a secret that is sent to no configured address.`,
  PLINTH_PLAN_DUPLICATE_DECLARATION: `The {{kind}} "{{name}}" is declared by "{{other}}" too.
    Rename one of the two.`,
  PLINTH_PLAN_GROUP_TITLED_TWICE: `Calls the group of keys "{{group}}" "{{title}}"; "{{other}}" calls it "{{otherTitle}}".
    Give both the same texts, or leave the title to one of the two.`,
  PLINTH_PLAN_TASK_KEY: `Scheduled task "{{task}}" takes its {{member}} from key "{{key}}", which the plugin does not declare.
    Declare the key in \`config\`, or write the value itself; fixedDelay is a number of milliseconds.`,
  PLINTH_PLAN_TASK_KEY_TYPE: `Scheduled task "{{task}}" takes its {{member}} from key "{{key}}", which is not made by {{builder}}.
    Declare the key with {{builder}}({ title, default }).`,
  PLINTH_PLAN_TABLES_IN_ROLES: `Brings tables, but loads in the roles {{roles}} only.
    Load it in every role and look at \`context.roles\` in set-up: any process may be the one that migrates.`,
  PLINTH_CONFIG_UNKNOWN_KEY: `"{{name}}" is not a key of any loaded plugin.{{nearest}}
    Correct the name, delete the entry, or load the plugin that declares it. \`plinth config list\` shows all keys.`,
  PLINTH_CONFIG_INVALID_VALUE: `Value of "{{key}}" {{reason}}.
    Correct the value. \`plinth config explain {{key}}\` shows the rule and every source.`,
  PLINTH_CONFIG_REQUIRED: `Key "{{key}}" has no value and no default.
    Set it in the product file, in .env as {{env}}=..., or in the environment.`,
  PLINTH_CONFIG_DEPRECATED: `Key "{{key}}" is deprecated since {{since}}.
    Use {{replacement}}.`,
  PLINTH_CONFIG_INSECURE: `"{{key}}" has a value that is not safe in production: {{reason}}
    Change the value. \`plinth config explain {{key}}\` shows every source.`,
  PLINTH_CONFIG_OVERRIDDEN: `{{variable}} has no effect: the {{row}} overrides it.
    Remove the variable. To use it instead, remove the stored value: \`plinth config reset {{key}}\`.`,
  PLINTH_CONFIG_SOURCE: `Cannot be read: {{reason}}.
    Correct the path, or the line of the file. The operator guide describes what a line may contain.`,
  PLINTH_CONFIG_TASK_NAME: `The name "{{name}}" belongs to another scheduled task: {{other}}.
    Choose a name that no other task has: pause, run and lease of a task go by its name.`,
  PLINTH_CONFIG_UNDECLARED: `Plugin "{{plugin}}" read key "{{key}}", which it does not declare.
    Declare the key in the plugin's \`config\`, or ask the plugin that owns it.`,
  PLINTH_NODE_VERSION: `Plinth needs Node.js {{needed}} or later, but this is Node.js {{found}}.
    Install Node.js {{needed}} or later, and start the product with it.`,
  PLINTH_PRODUCT_NOT_FOUND: `No product file at {{path}}.
    Name it with --product, or run the command in a directory with a plinth.config.ts.`,
  PLINTH_PRODUCT_INVALID: `The product file {{path}} cannot be used: {{reason}}.
    Correct the file. Its default export is defineProduct({ name, plugins: [...] }).`,
  PLINTH_PRODUCT_IMPORT: `{{file}} cannot be loaded: {{reason}}.
    Correct {{wrong}}, or install the packages that it imports.`,
  PLINTH_CREATE_NAME: `The name "{{name}}" cannot be used: {{reason}}.
    Choose another name: lower-case words with digits, joined by "-", at most 30 characters, such as "acme-chat".`,
  PLINTH_CREATE_NOT_EMPTY: `The folder {{folder}} is not empty: it contains "{{first}}". Nothing was written.
    Choose another folder, or empty this one.`,
  PLINTH_START_REFUSED: `The product cannot start: {{count}} problem(s).
    Correct every problem above; nothing was started.`,
  PLINTH_START_FAILED: `Plugin "{{plugin}}" failed in {{phase}}: {{reason}}.{{stored}}
    Correct the cause; everything that was started before it has been stopped.`,
  PLINTH_DEADLINE_PASSED: `Plugin "{{plugin}}" did not finish {{phase}} within {{ms}} ms.
    Find what it waits for, or raise platform.kernel.{{deadline}}-deadline or the plugin's own deadline.`,
  PLINTH_START_CANCELLED: `The start was given up: {{reason}}.
    Start again; everything that was started has been stopped.`,
  PLINTH_SERVICE_UNDECLARED: `Plugin "{{plugin}}" offered or took as its own the service "{{service}}" without declaring it.
    Add it to \`provides\`.`,
  PLINTH_SERVICE_NOT_PROVIDED: `Plugin "{{plugin}}" declares service "{{service}}" but did not provide it in set-up.
    Call context.provide() in set-up, or take it out of \`provides\`.`,
  PLINTH_SERVICE_PROVIDED_TWICE: `Plugin "{{plugin}}" provided service "{{service}}" twice.
    Provide it once.`,
  PLINTH_SERVICE_UNKNOWN: `No loaded plugin provides service "{{service}}".
    Add {{provider}} to the product file.`,
  PLINTH_CONTRIBUTION_UNDECLARED: `Plugin "{{plugin}}" used extension point "{{point}}" without declaring it.
    Add it to \`contributes\` to contribute to it, or to \`extensionPoints\` to own it.`,
  PLINTH_CONTRIBUTION_DUPLICATE: `Plugin "{{plugin}}" contributed "{{name}}" to "{{point}}", where "{{other}}" has that name.
    Use another name, or remove one of the two plugins.`,
  PLINTH_CONTRIBUTION_INVALID: `Plugin "{{plugin}}" contributed "{{name}}" to extension point "{{point}}" with {{count}} error(s): {{problems}}
    Correct them. The contract of the extension point is in {{origin}}.`,
  PLINTH_SETUP_RESULT: `Plugin "{{plugin}}" returned {{found}} from setup; no result of setup is used.
    Register functions with the context instead: context.onStop(() => pool.end()).`,
  PLINTH_CONTEXT_ARGUMENT: `Plugin "{{plugin}}" called {{member}}() in setup with {{found}} instead of {{expected}}.
    Pass {{example}}.`,
  PLINTH_NOT_AN_ERROR: `Threw {{found}} instead of an Error, so the line is unknown; the plugin is declared in {{file}}.
    Throw new Error(...), which contains the place, and reject promises with one.`,
  PLINTH_UNHANDLED_ERROR: `An error was not handled: {{reason}}.
    Handle it where it occurs: await every promise or catch its error, and catch errors in timers and event listeners.`,
  PLINTH_CONTEXT_CLOSED: `Plugin "{{plugin}}" called {{member}}() after its set-up had ended.
    Call it before setup() returns, and await everything that setup() starts.`,
  PLINTH_PARTS_CIRCLE: `Parts ask for each other while they are made: {{path}}.
    Let one of them keep what it receives and ask when it is used, or move what both need into a part of its own.`,
  PLINTH_PART_FAILED: `Part {{path}} could not be made: {{reason}}.
    Correct the cause; each part of the path is made for the one before it.`,
  PLINTH_STOP_FAILED: `The product stopped with {{count}} error(s).
    Correct the hooks named above; every other resource was released.`,
  PLINTH_RESTART_LOOP: `The product asked for a restart {{count}} times within {{seconds}} seconds; it is not started again.
    Find in its log why it asks, correct that, and start it again.`,
  PLINTH_CRASH_LOOP: `The product crashed {{count}} times within {{minutes}} minutes; it is not started again.
    Correct what the lines "crashed" of its log name, and start it again.`,
  PLINTH_PROCESS_ENDED: `The process was ended{{by}} with exit code {{exitCode}}, although nobody asked for that.
    Remove the call of process.exit(), and throw an error instead; a plugin asks for a restart with requestRestart().`,
  PLINTH_CLI_USAGE: `{{reason}}
    Run \`{{command}} --help\`.`,
  PLINTH_COMMAND_REFUSED: `{{reason}}
    Correct the arguments, or the state that the message speaks of.`,
  PLINTH_UNEXPECTED: `{{reason}}
    Correct the cause, or report it with the stack to whoever wrote the code that it names.`,
})

export type KernelErrorCode = ErrorCodeOf<typeof kernelError>

/** One problem of a product. The planner and the configuration report all problems together. */
export interface Problem {
  readonly code: KernelErrorCode
  /** Plugin that has to change, if known. */
  readonly plugin?: string
  /** Property of the declaration, or file and line, variable or argument. */
  readonly place: string
  readonly message: string
  readonly fix: string
}

function fill(code: KernelErrorCode, details: TextParams): { readonly message: string; readonly fix: string } {
  const { text, fix } = kernelError.table[code]
  return { message: fillText(text, details), fix: fillText(fix, details) }
}

/** @param details values for the placeholders of the text; `plugin` is added */
export function problem(code: KernelErrorCode, place: string, details: TextParams, plugin?: string): Problem {
  return plugin === undefined
    ? { code, place, ...fill(code, details) }
    : { code, plugin, place, ...fill(code, { plugin, ...details }) }
}

/** The product was rejected before anything started. */
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

/** One or more hooks failed while the product stopped; everything else was released. */
export class StopFailedError extends PlinthError {
  override readonly name = 'StopFailedError'
  readonly errors: readonly unknown[]

  constructor(failures: readonly { readonly plugin: string; readonly phase: string; readonly error: unknown }[]) {
    const list = failures.map(({ plugin, phase, error }) => `  ${plugin} in ${phase}: ${reasonOf(error)}`)
    const { message, fix } = fill('PLINTH_STOP_FAILED', { count: failures.length })
    super('PLINTH_STOP_FAILED', [message, ...list].join('\n'), fix)
    this.errors = failures.map(({ error }) => error)
  }
}
