/** The thread can be ended if a source blocks the parsers. */
import { parentPort } from 'node:worker_threads'
import { compile } from './compile.ts'
import type { TemplateSource } from './source.ts'

parentPort?.on('message', async (source: TemplateSource) => parentPort?.postMessage(await compile(source)))
