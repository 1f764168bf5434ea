import { errorTable, type Plugin } from '@plinth/kernel'

/**
 * Problems that only the verification of a plugin reports. The verification also reports problems of the planner and of
 * the start.
 */
export const verifyError = errorTable({
  PLINTH_VERIFY_FOLDER: `{{folder}} cannot be verified: {{reason}}.
    Name the folder of the plugin, which contains its package.json.`,
  PLINTH_VERIFY_PACK_FAILED: `npm pack fails: {{reason}}
    Run npm pack in the folder and correct the error.`,
  PLINTH_VERIFY_LICENCE: `package.json has no license.
    Write the SPDX name of the licence in "license", or "UNLICENSED".`,
  PLINTH_VERIFY_ENGINES: `engines.node is {{found}}, but the kernel needs Node.js {{needed}}.
    Write "engines": { "node": "{{needed}}" } in package.json.`,
  PLINTH_VERIFY_NOT_ESM: `{{file}} is not an ECMAScript module.
    Write "type": "module" in package.json, and use import and export.`,
  PLINTH_VERIFY_FILE_NOT_PACKED: `{{importer}} needs {{file}}, which the packed package does not contain.
    If the package must be built, build it first: the scripts of the package do not run while it is packed. Otherwise add the file or its folder to "files" of package.json, or correct the path.`,
  PLINTH_VERIFY_DEPENDENCY_UNDECLARED: `{{importer}} imports "{{name}}", which package.json does not list.
    Add it to "dependencies", or to "peerDependencies" if the product must have one copy of it.`,
  PLINTH_VERIFY_PRIVATE_IMPORT: `{{importer}} imports "{{name}}", a private file of another package.
    Import only names that the "exports" of the other package list. They stay the same in its next version.`,
  PLINTH_VERIFY_KERNEL_NOT_PEER: `package.json lists @plinth/kernel in "dependencies", so a product may load two copies of it.
    Move @plinth/kernel to "peerDependencies".`,
  PLINTH_VERIFY_NO_PLUGIN: `The installed package has no plugin: {{reason}}.
    Make the result of definePlugin() the default export of the package.`,
  PLINTH_VERIFY_IMPORT_EFFECT: `Importing the package has an effect: {{effect}}.
    Do this in \`setup\`, and undo it in \`context.onStop\`. Commands of every product import all plugins.`,
  PLINTH_VERIFY_SLOW_SETUP: `The plugin needs {{ms}} ms in {{phase}}, which delays the start of every product. At most {{limit}} ms are expected.
    Start slow work in \`context.onReady\` without waiting for it, or at its first use.`,
  PLINTH_VERIFY_LOOP_BLOCKED: `{{work}} blocks the event loop for {{ms}} ms. No other request is served meanwhile.
    Use asynchronous functions, divide the work, or move it to a worker thread.`,
  PLINTH_VERIFY_LEFT_OPEN: `{{type}} is still open after the stop. It was opened at {{place}}.
    Release it: context.onStop(() => clearInterval(timer)).`,
  PLINTH_VERIFY_LISTENER_LEFT: `The listener for "{{event}}" is still on the process after the stop.
    Remove it: context.onStop(() => process.off(event, listener)).`,
  PLINTH_VERIFY_GLOBAL_CHANGED: `{{name}} is changed after the stop. All plugins and libraries of the process share it.
    Do not change it. Declare a configuration key instead of a variable, and a function instead of a method of a built-in class.`,
  PLINTH_VERIFY_MEMORY_GROWTH: `Each start and stop leaves {{megabytes}} MB in memory.
    Keep data in variables of \`setup\`, not of the module, and release it in \`context.onStop\`.`,
  PLINTH_VERIFY_HOST_UNDECLARED: `The plugin contacts {{host}}, but declares these hosts: {{declared}}.
    List the host in \`outgoingHosts\`, and send the request with the service of @plinth/outgoing-http.`,
  PLINTH_VERIFY_SECRET_LOGGED: `The output of the product contains the value of the secret "{{key}}".
    Do not log it. The mask of the log does not know every form of a secret.`,
  PLINTH_VERIFY_SECRET_SENT: `The response of {{route}} contains the value of the secret "{{key}}".
    Do not return it. A caller may need to know whether the secret is set, never its value.`,
  PLINTH_VERIFY_SECRET_STORED: `Table {{table}} contains the value of the secret "{{key}}" in clear text.
    Read the secret from the configuration when it is used. The config centre stores it encrypted.`,
  PLINTH_VERIFY_ROUTE_FAILED: `{{route}} returns "500" for a request with invented values.
    Declare the schemas of the request, and throw a business error for what the caller may see.`,
  PLINTH_VERIFY_SCOPE_IGNORED: `{{route}} declares the scope "caller", but an operator with the scope "self" reaches the rows of other users.
    Read and change rows with the condition of \`callerRows\` of @plinth/iam.`,
  PLINTH_VERIFY_TASK_FAILED: `The scheduled task "{{task}}" fails: {{reason}}.
    Check whether it may fail without its external service. The product runs it again after its delay.`,
  PLINTH_VERIFY_TABLE_UNDECLARED: `The plugin creates the table {{table}} without a change set.
    Create it in a change set of \`migrations\`. Only then do upgrades, backups and the removal know it.`,
  PLINTH_VERIFY_DATABASE_NOT_EMPTY: `The database contains tables, among them {{table}}.
    Specify an empty database. All tables in it are deleted after the verification.`,
  PLINTH_VERIFY_DATA_LEFT: `After the removal of the plugin, data is left in {{table}}: {{rows}}.
    Store data in your own tables. Contribute \`pluginData\` if another place is necessary.`,
  PLINTH_VERIFY_MIGRATION_REPEAT: `The plugin cannot be installed again after its removal: {{reason}}
    Let change sets create only tables and their indexes, which the removal deletes.`,
  PLINTH_VERIFY_KIT_MISSING: `The plugin contributes to "{{point}}", but no test of the package runs {{kit}}.
    Run the conformance kit in a test, and declare the script "test" in package.json.`,
  PLINTH_VERIFY_KIT_FAILED: `A conformance kit of {{name}} fails: {{reason}}
    Run npm test in the folder. Each failed case reports the rule and what to do.`,
  PLINTH_VERIFY_CONTRACT: `{{what}} violates its contract. {{reason}}
    Correct it, and run {{kit}} in a test of the package.`,
  PLINTH_VERIFY_PREVIOUS: `The previous version cannot be used: {{reason}}
    Name its packed archive or its folder with --previous.`,
  PLINTH_VERIFY_UPGRADE_FAILED: `The product does not start after the upgrade from {{version}}: {{reason}}
    Keep executed change sets as they are. Add a new change set that accepts the old rows.`,
  PLINTH_VERIFY_UPGRADE_LOST: `After the upgrade from {{version}}, {{rows}} of {{table}} cannot be read.
    Copy the rows before you drop or rename the table, and keep it until the next version.`,
  PLINTH_VERIFY_CHANGE_SET_GONE: `The change set {{id}} of {{version}} is missing in the new version.
    Keep all published change sets. A new database needs them too.`,
  PLINTH_VERIFY_DOWNGRADE: `Version {{version}} does not start on the upgraded database: {{reason}}
    Only add tables and nullable columns. During an upgrade, instances of the previous version still serve.`,
  PLINTH_VERIFY_TESTS_FAILED: `npm test of {{name}} fails: {{reason}}
    Run npm test in the folder and correct the error.`,
  PLINTH_VERIFY_ENDLESS: `The process did not end within {{seconds}} seconds. Its last step was: {{step}}.
    Look for an endless loop or a wait without a limit. A slow machine may need a larger --limit.`,
})

/** Returns the hosts that a plugin may contact. */
export const outgoingHostsOf = ({ outgoingHosts = ['*'] }: Pick<Plugin, 'outgoingHosts'>) => outgoingHosts

/**
 * Returns the problem of a plugin that contacts a host without declaring it.
 *
 * @param host name of the host, or a description
 */
export const undeclaredHostProblem = (host: string, plugin: Pick<Plugin, 'outgoingHosts'>) =>
  verifyError('PLINTH_VERIFY_HOST_UNDECLARED', { host, declared: outgoingHostsOf(plugin).join(', ') || 'none' })
