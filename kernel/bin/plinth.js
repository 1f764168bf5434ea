#!/usr/bin/env node
// Written in plain JavaScript, so that an old Node.js can run it. It enables the compile cache before it loads other
// modules.
import { readFileSync } from 'node:fs'
import { enableCompileCache } from './compile-cache.js'
import { oldNodeVersion } from './node-version.js'

const { engines } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
const old = oldNodeVersion(process.versions.node, engines.node)

if (old === undefined) {
  enableCompileCache(process.argv.slice(2), process.cwd())
  await import('#main')
} else {
  // The same text as PLINTH_NODE_VERSION in the error table. An old Node.js may be unable to load that table.
  const message = `Plinth requires Node.js ${old.needed} or later, but this process runs on Node.js ${old.found}.`
  const document = JSON.stringify({ error: { code: 'PLINTH_NODE_VERSION', message } })
  if (process.argv.includes('--json')) process.stdout.write(`${document}\n`)
  else process.stderr.write(`${message}\n`)
  process.exitCode = 1
}
