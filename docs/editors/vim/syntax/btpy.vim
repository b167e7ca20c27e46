" Written by docs/build_reference.py from the tables in btpy/lang: do not edit.
if exists("b:current_syntax")
  finish
endif
syntax keyword btpyKeyword btpy import use as param config map fn probe when let if else for in limit delete return instanceof thread
syntax keyword btpyConstant true false null
syntax keyword btpyType boolean byte short char int long float double string object duration bytes
syntax keyword btpySpecial ENTRY RETURN THROW EXIT CALL LINE NEW NEWARRAY FIELD_GET FIELD_SET RAISE CATCH SYNC_ENTER SYNC_EXIT INSTANCEOF CAST ARRAY_GET ARRAY_SET BEFORE AFTER
syntax keyword btpyFunction typeof id len enum_name message cause shallow_size fields locals show owner_name loader_of thread_state heap_used heap_committed heap_max nonheap_used pool_used pool_max gc_count gc_time thread_count deadlocks lock_waits classes_loaded classes_unloaded uptime vm_arguments property environment cpu_time allocated print_threads print_deadlocks print_properties print_environment heap_dump substr startswith endswith indexof lower upper trim split replace matches hash truncate normalize_sql url_path redact stack frame app_frame caller strftime entry new_id rand baggage mdc print printf emit span jfr table plot warn exit clear flush keys size rate has skip disable speculate commit discard provide clear_thread state clear_state begin_flow leave_flow hand_over_flow resume_flow take_back_flow keep_flow enter_flow flow_runs send static_check count sum avg min max stats hist lhist pctl tseries topk distinct first last sample_of any all none
syntax match btpyFunction /\<contains\>/
syntax keyword btpyIdentifier self args retval exception duration depth indent self_time cls method signature line probe loader tid thread_name is_virtual now flow nanos pid elapsed trace_id span_id trace_flags target targs target_class target_method field oldval newval index size length lock event state cpu pool used limit error
syntax match btpyAnnotation /@\%(OnMethod\|OnTimer\|OnSample\|OnBegin\|OnEnd\|OnEvent\|OnUncaught\|OnClassLoad\|OnLowMemory\|OnProbe\|OnError\|Sample\|Limit\|Outermost\|Span\|Disabled\|Level\|Doc\|Unit\|Tested\)\>/
syntax match btpyMap /@[a-z_]\w*/
syntax match btpyTarget /\$\h\w*\|\<arg\d\+\>/
syntax match btpyNumber /\<\%(0[xX]\x\+\|\d[0-9_]*\%(\.\d\+\)\?\)\%(ns\|us\|ms\|s\|m\|h\|d\|B\|KB\|MB\|GB\)\?\>/
syntax region btpyString start=/f\?"/ skip=/\\./ end=/"\|$/
syntax match btpyComment /\%(\/\/\|#\).*$/
syntax region btpyComment start=/\/\*/ end=/\*\//
highlight default link btpyKeyword Keyword
highlight default link btpyConstant Constant
highlight default link btpyType Type
highlight default link btpySpecial Special
highlight default link btpyFunction Function
highlight default link btpyIdentifier Identifier
highlight default link btpyAnnotation PreProc
highlight default link btpyMap Identifier
highlight default link btpyTarget Identifier
highlight default link btpyNumber Number
highlight default link btpyString String
highlight default link btpyComment Comment
let b:current_syntax = "btpy"
