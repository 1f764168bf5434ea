// Run by npm around `npm pack` in a workspace: "on" points package.json at the build, "off" points it back at the sources.
import { readFileSync, writeFileSync } from 'node:fs'
import { manifestRules, withPaths } from './published-paths.ts'

const rules = { on: manifestRules.published, off: manifestRules.repository }[process.argv[2]]
if (rules === undefined) throw new Error('usage: pack-exports.mjs on|off')
writeFileSync('package.json', withPaths(readFileSync('package.json', 'utf8'), rules))
