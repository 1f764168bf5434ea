#!/usr/bin/env node
// Plain JavaScript: the compile cache has to be on before the first module that it is to speed up is loaded.
import { existsSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { resolve } from 'node:path'

// Beside the dependencies that it is made from. The shared directory that Node.js would take is open to every user of
// the machine, and what stands in the cache is run.
const modules = resolve('node_modules')
if (existsSync(modules)) enableCompileCache(resolve(modules, '.cache', 'plinth'))

await import('#main')
