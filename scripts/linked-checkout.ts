import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readdirSync, readlinkSync, realpathSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Checks out a commit of this repository into an empty directory, with the packages that are installed here. `node_modules` contains
 * links: third-party packages of this checkout, and the workspaces of the new one.
 *
 * @throws Error if git cannot check out the commit
 */
export function linkCheckout(commit: string, root: string): void {
  const { status, stderr } = spawnSync('git', ['worktree', 'add', '--detach', '--force', root, commit], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`git cannot check out ${commit}: ${stderr}`)
  for (const folder of ['node_modules', ...globSync('plugins/*/node_modules')]) linkPackages(folder, join(root, folder))
}

function linkPackages(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    // A relative link leads to a workspace, so the copy leads to the workspace of the new checkout.
    if (entry.isSymbolicLink()) symlinkSync(readlinkSync(source), target)
    else if (entry.isDirectory() && entry.name.startsWith('@plinth')) linkPackages(source, target)
    else symlinkSync(realpathSync(source), target)
  }
}
