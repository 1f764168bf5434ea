/**
 * Loaded before a test file: keeps tap from following every promise of the process to tell which test an error outside
 * all tests belongs to, which is a tenth of the time. Such an error ends the process, and the file has failed.
 */
import hooks from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'

const idle = { enable: () => idle, disable: () => idle }
hooks.createHook = () => idle
syncBuiltinESMExports()
