import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from '../plugin.ts'
import { refOf } from '../refs.ts'
import { verifyError } from './errors.ts'
import { type PackageManifest, readManifest } from './package-checks.ts'
import { failedProgram, type ProgramLimits, runProgramIn } from './plugin-package.ts'
import { leveled, type VerifyProblem } from './verify-report.ts'

/** Extension points and declarations with a conformance kit, and the function that returns its cases. */
const kits: Readonly<Record<string, string>> = {
  'notification.channel': 'notificationChannelCases',
  'notification.webhook-provider': 'webhookProviderCases',
  'rate-limit.store': 'rateLimitStoreCases',
  installTasks: 'installTaskCases',
}

/** Runs the script `test` of a package in its folder, which includes the conformance kits that its tests run. */
export async function testProblems(
  folder: string,
  { name, scripts = {} }: PackageManifest,
  limits: ProgramLimits,
): Promise<readonly VerifyProblem[]> {
  if (scripts['test'] === undefined) return []
  try {
    await runProgramIn(folder, 'npm', ['test'], limits)
    return []
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string }
    const isKit = `${stdout}${stderr}`.includes('ConformanceError')
    const reason = failedProgram(error, isKit ? /ConformanceError/ : /not ok|✖|Error\b/)
    const code = isKit ? 'PLINTH_VERIFY_KIT_FAILED' : 'PLINTH_VERIFY_TESTS_FAILED'
    return [leveled(verifyError(code, { name, reason }))]
  }
}

/** Returns a problem for each extension point whose conformance kit no test file of the package names. */
export function kitProblems(
  folder: string,
  { contributes = [], installTasks = [] }: Pick<Plugin, 'contributes' | 'installTasks'>,
): readonly VerifyProblem[] {
  const { scripts = {} } = readManifest(folder)
  const files = globSync('**/*.test.{js,mjs,ts,mts}', { cwd: folder, exclude: ['**/node_modules/**'] })
  const tests =
    scripts['test'] === undefined ? '' : files.map((file) => readFileSync(join(folder, file), 'utf8')).join()
  const points = [...contributes.map((need) => refOf(need).id), ...(installTasks.length > 0 ? ['installTasks'] : [])]
  return points.flatMap((point) => {
    const kit = kits[point]
    if (kit === undefined || tests.includes(kit)) return []
    return [leveled(verifyError('PLINTH_VERIFY_KIT_MISSING', { point, kit }))]
  })
}
