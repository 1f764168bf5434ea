/** Runs in a thread of its own: whatever a source does to the parsers, the thread can be ended. */
import { parentPort } from 'node:worker_threads'
import { compile } from './compile.ts'
import type { TemplateSource } from './source.ts'

parentPort?.on('message', async (source: TemplateSource) => parentPort?.postMessage(await compile(source)))
