import { IconLayoutKanban, IconList } from '@tabler/icons-react'
import { useSearchParams } from 'wouter'
import { useLanguage } from '../../../app/app.tsx'
import { boardName, trailName, withParameters } from '../list-state.ts'
import { ToolButton } from '../tool-button.tsx'

/** True if the address shows the board. */
export const useIsBoard = () => useSearchParams()[0].has(boardName)

/** Button that switches between the list and the board. */
export function BoardSwitch() {
  const { translate } = useLanguage()
  const [params, setParams] = useSearchParams()
  const isBoard = params.has(boardName)
  const title = translate(isBoard ? 'admin.show-list' : 'admin.show-board')
  const change = () => setParams(withParameters(params, { [boardName]: isBoard ? '' : '1', [trailName]: '' }))
  return <ToolButton Icon={isBoard ? IconList : IconLayoutKanban} label={title} onClick={change} />
}
