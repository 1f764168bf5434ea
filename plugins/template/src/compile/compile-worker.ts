/** Program of the compiler thread. Unlike the main thread, it can be terminated if a source blocks the parsers. */
import { parentPort } from 'node:worker_threads'
import { compileTemplate } from './compile.ts'
import type { TemplateSource } from './source.ts'

parentPort?.on('message', async (source: TemplateSource) => parentPort?.postMessage(await compileTemplate(source)))
