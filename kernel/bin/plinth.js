#!/usr/bin/env node
// Plain JavaScript: an old Node.js must be able to read it, and the compile cache must be on before other modules are loaded.
import { existsSync, readFileSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { resolve } from 'node:path'
import { oldNodeVersion } from './node-version.js'

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const old = oldNodeVersion(process.versions.node, engines.node)

if (old === undefined) {
  // Next to the dependencies whose code it contains. The shared directory that Node.js uses by default can be written by
  // every user of the machine, and code in the cache is executed.
  const modules = resolve('node_modules')
  if (existsSync(modules)) nodeModule.enableCompileCache(resolve(modules, '.cache', 'plinth'))
  await import('#main')
} else {
  // The same text as PLINTH_NODE_VERSION in the table of errors, which this version of Node.js may be unable to load.
  const message = `Plinth requires Node.js ${old.needed} or later, but this process runs on Node.js ${old.found}.`
  const document = JSON.stringify({ error: { code: 'PLINTH_NODE_VERSION', message } })
  if (process.argv.includes('--json')) process.stdout.write(`${document}\n`)
  else process.stderr.write(`${message}\n`)
  process.exitCode = 1
}
