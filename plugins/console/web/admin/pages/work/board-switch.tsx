import { Button } from '@mantine/core'
import { IconLayoutKanban, IconList } from '@tabler/icons-react'
import { useSearchParams } from 'wouter'
import { useLanguage } from '../../../app/app.tsx'
import { boardName } from '../list-state.ts'

/** True if the address shows the board. */
export const useIsBoard = () => useSearchParams()[0].has(boardName)

/** Button that switches between the list and the board. */
export function BoardSwitch() {
  const { translate } = useLanguage()
  const [params, setParams] = useSearchParams()
  const isBoard = params.has(boardName)
  const title = translate(isBoard ? 'admin.show-list' : 'admin.show-board')
  const change = () => {
    const next = new URLSearchParams(params)
    if (isBoard) next.delete(boardName)
    else next.set(boardName, '1')
    next.delete('after')
    setParams(next)
  }
  const Icon = isBoard ? IconList : IconLayoutKanban
  return (
    <Button variant="default" size="sm" aria-label={title} title={title} onClick={change}>
      <Icon size={16} aria-hidden />
    </Button>
  )
}
