import { templateFiles } from '../../dev/src/create/templates.ts'

/** The files that `npm create plinth` writes to `deploy/` of the product `shop`, by path, for example `deploy/Dockerfile`. */
export const deployFiles: ReadonlyMap<string, string> = templateFiles(['deploy'], 'shop')

/** @throws Error if there is no such file */
export function deployFile(path: string): string {
  const text = deployFiles.get(path)
  if (text === undefined) throw new Error(`no file ${path}`)
  return text
}
